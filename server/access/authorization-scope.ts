/**
 * The authorization scope of callers over what is configured. Resource rules bind members of groups, and apply to the
 * resources that Kubernetes manages. Telemetry rules bind them, too: nobody changes what happens to rows that they may
 * not read.
 */

import type { Signal } from "../../engine/index.ts";
import {
  type Group,
  type ManagedKind,
  managedKinds,
  type ResourceRule,
  type TelemetryRule,
  type Verb,
} from "../model/access-rules.ts";
import type { Alert } from "../model/alert.ts";
import type { Caller, Permission } from "../model/caller.ts";
import type { Stored } from "../model/stored-resource.ts";
import { withCurrentGroups, withTokenGroups } from "./group-membership.ts";
import { permissionsOf } from "./permissions.ts";
import { canUseManaged } from "./resource-grants.ts";
import { mustMatch } from "./row-facts.ts";
import { isRestricted, rowFilterOf } from "./row-filter.ts";
import { alertRows, type LabelValues, type RowSelection } from "./row-selection.ts";
import type { Tokens } from "./tokens.ts";

/** The part of a stored resource that says in which cluster and namespace Kubernetes manages it. */
type ManagedState = Pick<Stored<unknown>, "managed">;

/** What reads rows: an alert, and the caller whose rights it has. */
export type AlertReader = Pick<Stored<Alert>, "value" | "updatedBy">;

/** The stored resources that a caller's scope depends on. */
export interface ScopedResources extends Record<ManagedKind, { get(id: string): ManagedState | undefined }> {
  alerts: { get(id: string): (AlertReader & ManagedState) | undefined };
  tokens: Pick<Tokens, "groupsOf">;
  listGroups(): readonly Group[];
  listResourceRules(): readonly ResourceRule[];
  listTelemetryRules(): readonly TelemetryRule[];
}

const noLabels: LabelValues = new Map();

/** Answers what a caller may see and do, by the groups and rules of the moment. */
export class AuthorizationScope {
  readonly #resources: ScopedResources;

  constructor(resources: ScopedResources) {
    this.#resources = resources;
  }

  /** Whether the caller sees the resource. Who may read a kind sees all resources that Kubernetes does not manage. */
  canSee(caller: Caller, kind: string, stored: ManagedState): boolean {
    return this.#grants(caller, kind, "read", stored) ?? true;
  }

  /**
   * Whether the caller may use the verb: for members and managed resources the rules decide, else the role's
   * permission.
   */
  canUse(caller: Caller, kind: string, verb: Verb, permission: Permission, stored: ManagedState): boolean {
    return this.#grants(caller, kind, verb, stored) ?? permissionsOf[caller.role].includes(permission);
  }

  /** Whether the caller may name an alert or webhook of this id: one that is hidden counts as absent. */
  canName(caller: Caller, kind: ManagedKind, id: string): boolean {
    const stored = this.#resources[kind].get(id);
    return stored !== undefined && this.canSee(caller, kind, stored);
  }

  /** True where no rules bind the caller now: such a caller reads every row. */
  isUnrestricted(caller: Caller): boolean {
    return !isRestricted(this.#withCurrentGroups(caller));
  }

  /** Whether the caller may decide what happens to these rows: whether they may read each of them. */
  canReadRows(caller: Caller, selections: readonly RowSelection[]): boolean {
    const filterOf = this.#rowFilters(caller);
    return selections.every(({ signal, facts }) => mustMatch(filterOf(signal), facts));
  }

  /**
   * Whether the caller may read all rows behind the instances of an alert that have one of these values in each of
   * these labels, or all rows that it reads.
   */
  canReadRowsOf(caller: Caller, { value, updatedBy }: AlertReader, labels = noLabels): boolean {
    if (this.canReadAllOf(caller, updatedBy)) return true;
    const rows = alertRows(value, this.#rowFilters(updatedBy), labels);
    return rows !== undefined && this.canReadRows(caller, rows);
  }

  /**
   * Whether silences of the caller hold for the instances of an alert that have one of these values in each of these
   * labels. Members silence only what they may read, and a managed alert only if they may update it.
   */
  canSilence(caller: Caller, alertId: string, labels = noLabels): boolean {
    if (this.isUnrestricted(caller)) return true;
    const stored = this.#resources.alerts.get(alertId);
    if (stored === undefined) return false;
    return (
      (this.#grants(caller, "alerts", "update", stored) ?? true) && this.canReadRowsOf(caller, stored, labels)
    );
  }

  /** Whether `caller` reads all rows that `other` reads, whatever the rules say. */
  canReadAllOf(caller: Caller, other: Caller): boolean {
    const [mine, theirs] = [this.#withCurrentGroups(caller), this.#withCurrentGroups(other)];
    if (!isRestricted(mine)) return true;
    if (!isRestricted(theirs)) return false;
    const groups = theirs.groups ?? [];
    const isSameToken = mine.tokenId !== null && mine.tokenId === theirs.tokenId;
    return isSameToken || (groups.length > 0 && groups.every((group) => mine.groups?.includes(group)));
  }

  #rowFilters(caller: Caller): (signal: Signal) => ReturnType<typeof rowFilterOf> {
    const current = this.#withCurrentGroups(caller);
    return (signal) => rowFilterOf(current, this.#resources.listTelemetryRules(), signal);
  }

  #withCurrentGroups(caller: Caller): Caller {
    const { tokens, listGroups } = this.#resources;
    return withCurrentGroups(withTokenGroups(caller, tokens), listGroups);
  }

  /**
   * Undefined where no rules apply: for other kinds, for resources that are not managed, and for unrestricted callers.
   */
  #grants(caller: Caller, plural: string, verb: Verb, { managed }: ManagedState): boolean | undefined {
    const kind = managedKinds.find((each) => each === plural);
    const current = this.#withCurrentGroups(caller);
    if (kind === undefined || managed === undefined || !isRestricted(current)) return undefined;
    return canUseManaged(current, this.#resources.listResourceRules(), kind, verb, managed);
  }
}
