/** `svc export-manifests`: prints what stands in a hub as custom resources. */

import type { HubResources } from "../kubernetes/manifest-tools.ts";
import { suggest } from "../text/suggestion.ts";
import { askJson, type Client, openClient } from "./client/client.ts";
import { type Command, parseText, takeLast } from "./flags/flag.ts";
import { serverFlags, switchFlag } from "./flags/shared-flags.ts";
import { UsageError } from "./flags/units.ts";
import { escapeText } from "./output/terminal.ts";

/** The kinds, by their names in answers, with their paths. */
const paths = {
  webhooks: "webhooks",
  alerts: "alerts",
  dashboards: "dashboards",
  ingestionRules: "ingestion-rules",
  groups: "groups",
  telemetryRules: "telemetry-rules",
  resourceRules: "resource-rules",
} as const satisfies Record<keyof HubResources, string>;
const pathNames = Object.values(paths);

const flags = {
  kind: {
    placeholder: "KIND",
    help: `prints these alone: ${pathNames.join(", ")}`,
    defaultText: "all that the token may read",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseKind),
  },
  namespace: {
    placeholder: "NAME",
    help: "the namespace of the objects",
    default: "default",
    parse: takeLast(parseText),
  },
  cluster: {
    placeholder: "NAME",
    help: "the cluster that the objects are for: alerts name its webhooks, rules of others are left out",
    defaultText: "none: alerts keep the ids of webhooks",
    parse: takeLast(parseText),
  },
  managed: { ...switchFlag, help: "prints also what Kubernetes manages" },
  ...serverFlags,
} as const;

export const exportManifests: Command<typeof flags> = {
  name: "export-manifests",
  summary: "prints what stands in a hub as custom resources",
  operands: "",
  output: "answer",
  flags,
  details: [
    "svc export-manifests --namespace shop --cluster prod > svc.yaml   moves what was made by hand to Git",
    "",
    "What a custom resource cannot say stands in comments; what cannot be one is told on standard error.",
  ],
  run: async (settings, operands) => {
    if (operands.length > 0)
      throw new UsageError("export-manifests takes flags alone, such as --kind alerts");
    const client = await openClient(settings);
    const { exportManifests: convert } = await import("../kubernetes/manifest-tools.ts");
    const resources = await readResources(client, settings.kind ?? pathNames, settings.managed);
    const { manifests, leftOut } = convert(resources, {
      namespace: settings.namespace,
      cluster: settings.cluster ?? undefined,
    });
    for (const { text } of manifests) process.stdout.write(escapeText(text));
    for (const reason of leftOut) process.stderr.write(`${escapeText(`left out: ${reason}`)}\n`);
    process.stderr.write(`${manifests.length} objects, ${leftOut.length} left out\n`);
    return 0;
  },
};

function parseKind(text: string): string {
  if (pathNames.some((name) => name === text)) return text;
  throw new UsageError(`one of ${pathNames.join(", ")}${suggest(text, pathNames)}`);
}

async function readResources(
  client: Client,
  kinds: readonly string[],
  withManaged: boolean,
): Promise<HubResources> {
  const read: Record<string, unknown[]> = {};
  for (const [plural, path] of Object.entries(paths)) {
    read[plural] = kinds.includes(path) ? await readKind(client, plural, path, withManaged) : [];
  }
  return read as unknown as HubResources;
}

interface Named {
  id?: string;
  name?: string;
  metadata?: { id?: string };
}

/** All resources of a kind. */
async function readKind(
  client: Client,
  plural: string,
  path: string,
  withManaged: boolean,
): Promise<unknown[]> {
  const found: unknown[] = [];
  let cursor: string | undefined;
  do {
    const after = cursor === undefined ? "" : `&cursor=${cursor}`;
    const page = await askJson<Record<string, unknown> & { cursor?: string; managed?: object }>(client, {
      method: "GET",
      path: `/api/v1/${path}?limit=1000${after}`,
    });
    for (const each of page[plural] as Named[]) {
      const id = each.metadata?.id ?? each.id ?? each.name ?? "";
      if (!withManaged && Object.hasOwn(page.managed ?? {}, id)) continue;
      found.push(plural === "dashboards" ? await readDashboard(client, id) : each);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** Lists of dashboards have no content. */
async function readDashboard(client: Client, id: string): Promise<unknown> {
  const path = `/api/v1/dashboards/${encodeURIComponent(id)}`;
  const { dashboard } = await askJson<{ dashboard: unknown }>(client, { method: "GET", path });
  return dashboard;
}
