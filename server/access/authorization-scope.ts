/**
 * The authorization scope of callers over alerts, dashboards and webhooks. Resource rules bind members of groups, and
 * apply to the resources that Kubernetes manages.
 */

import {
  type Group,
  type ManagedKind,
  managedKinds,
  type ResourceRule,
  type Verb,
} from "../model/access-rules.ts";
import type { Caller, Permission } from "../model/caller.ts";
import { isManaged } from "../model/resource-id.ts";
import type { Stored } from "../model/stored-resource.ts";
import { withCurrentGroups } from "./group-membership.ts";
import { permissionsOf } from "./permissions.ts";
import { canUseManaged } from "./resource-grants.ts";
import { isRestricted } from "./row-filter.ts";

/** The part of a stored resource that says in which cluster and namespace Kubernetes manages it. */
type ManagedState = Pick<Stored<unknown>, "managed">;

/** The stored resources that a caller's scope depends on. */
export interface ScopedResources extends Record<ManagedKind, { get(id: string): ManagedState | undefined }> {
  listGroups(): readonly Group[];
  listResourceRules(): readonly ResourceRule[];
}

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

  /** Whether silences of the caller apply to the alert. Members silence a managed alert only if they may update it. */
  canSilence(caller: Caller, alertId: string): boolean {
    const stored = this.#resources.alerts.get(alertId);
    if (stored === undefined) return !isManaged(alertId) || !isRestricted(this.#withCurrentGroups(caller));
    return this.#grants(caller, "alerts", "update", stored) ?? true;
  }

  /** Whether `caller` reads all rows that `other` reads, whatever the rules say. */
  canReadAllOf(caller: Caller, other: Caller): boolean {
    const [mine, theirs] = [this.#withCurrentGroups(caller), this.#withCurrentGroups(other)];
    if (!isRestricted(mine)) return true;
    const groups = theirs.groups ?? [];
    return isRestricted(theirs) && groups.length > 0 && groups.every((group) => mine.groups?.includes(group));
  }

  #withCurrentGroups(caller: Caller): Caller {
    return withCurrentGroups(caller, () => this.#resources.listGroups());
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
