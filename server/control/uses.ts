/** What refers to a resource by its name. Whoever deletes the resource has to change that first. */

import type { Tokens } from "../access/tokens.ts";
import type { ResourceRule, TelemetryRule } from "../model/access-rules.ts";
import type { IngestionRule } from "../model/ingestion-rule.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Collection } from "./collection.ts";

/** The kinds of rules, which name groups and clusters. */
interface Rules {
  telemetryRules: Collection<TelemetryRule>;
  resourceRules: Collection<ResourceRule>;
  ingestionRules: Collection<IngestionRule>;
}

/** Uses that a refusal names; the others are counted. */
const namedMax = 5;

/** Throws Refusal 409 where there are uses, such as `the alert "a"`. */
export function refuseUsed(what: string, uses: readonly string[]): void {
  if (uses.length === 0) return;
  const named = uses.slice(0, namedMax).join(", ");
  const more = uses.length > namedMax ? ` and ${uses.length - namedMax} more` : "";
  throw new Refusal(409, `the ${what} is used by ${named}${more}: change that first`);
}

/** The rules and tokens that name a group. */
export function usesOfGroup(
  { telemetryRules, resourceRules }: Rules,
  tokens: Pick<Tokens, "list">,
  name: string,
): string[] {
  const hasGroup = ({ groups = [] }: { groups?: readonly string[] }) => groups.includes(name);
  const bearers = tokens.list().filter(hasGroup);
  return [
    ...usesIn("telemetry rule", telemetryRules, hasGroup),
    ...usesIn("resource rule", resourceRules, hasGroup),
    ...bearers.map((token) => `the token ${JSON.stringify(token.name)} (${token.id})`),
  ];
}

/** The rules that name an environment as their cluster; rules of the cluster's own objects do not count. */
export function usesOfEnvironment(
  { telemetryRules, resourceRules, ingestionRules }: Rules,
  name: string,
): string[] {
  const isOfCluster = ({ cluster }: { cluster?: string | undefined }) => cluster === name;
  const own = (collection: Collection<{ cluster?: string | undefined }>) => ({
    list: () => collection.list().filter(({ value }) => value.managed?.cluster !== name),
  });
  return [
    ...usesIn("telemetry rule", own(telemetryRules), isOfCluster),
    ...usesIn("resource rule", own(resourceRules), isOfCluster),
    ...usesIn("ingestion rule", own(ingestionRules), isOfCluster),
  ];
}

function usesIn<T>(
  kind: string,
  collection: Pick<Collection<T>, "list">,
  isUse: (value: T) => boolean,
): string[] {
  const uses = collection.list().filter(({ value }) => isUse(value.value));
  return uses.map(({ id }) => `the ${kind} ${JSON.stringify(id)}`);
}
