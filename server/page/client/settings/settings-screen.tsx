/** The settings: a section for each kind of resource, and how the server itself is. */

import type { ComponentType } from "preact";
import { may } from "../api/session.ts";
import { path } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { GroupSight } from "./group-sight.tsx";
import { Health } from "./health.tsx";
import { environments, groups, ingestionRules, resourceRules, telemetryRules } from "./kinds.ts";
import { ResourceSection } from "./resource-section.tsx";
import { Tokens } from "./tokens.tsx";
import { Webhooks } from "./webhooks.tsx";

interface Section {
  href: string;
  name: string;
  /** What it takes to see it. */
  permission: string;
  Component: ComponentType;
}

const sections: readonly Section[] = [
  {
    ...{ href: "/settings/environments", name: "Environments", permission: "search" },
    Component: () => <ResourceSection kind={environments} />,
  },
  { href: "/settings/tokens", name: "Tokens", permission: "manage tokens", Component: Tokens },
  {
    ...{ href: "/settings/groups", name: "Groups", permission: "manage access" },
    Component: () => (
      <>
        <ResourceSection kind={groups} />
        <GroupSight />
      </>
    ),
  },
  {
    ...{ href: "/settings/rules", name: "Who sees what", permission: "manage access" },
    Component: () => (
      <>
        <ResourceSection kind={telemetryRules} />
        <ResourceSection kind={resourceRules} />
      </>
    ),
  },
  {
    ...{ href: "/settings/ingestion", name: "Ingestion", permission: "configure" },
    Component: () => <ResourceSection kind={ingestionRules} />,
  },
  { href: "/integrations", name: "Webhooks", permission: "search", Component: Webhooks },
  { href: "/settings/health", name: "Health", permission: "search", Component: Health },
];

export function SettingsScreen() {
  const seen = sections.filter(({ permission }) => may(permission));
  const section = sections.find(({ href }) => href === path.value);
  useSubject(section?.name);
  return (
    <div class="screen">
      <nav class="choice" aria-label="Settings">
        {seen.map(({ href, name }) => (
          <a key={href} class="button" href={href} aria-current={href === path.value ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {section === undefined ? (
        <p class="empty">There is no such section.</p>
      ) : may(section.permission) ? (
        <section.Component />
      ) : (
        <p class="empty">Your role may not see this: it takes the permission to {section.permission}.</p>
      )}
    </div>
  );
}
