/** What callers may see, and do, of alerts, dashboards and webhooks: resource rules bind members of groups in what Kubernetes manages. */

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

/** What says where a resource stands. */
type Placed = Pick<Stored<unknown>, "managed">;

/** What is configured, as far as the scope of a caller depends on it. */
export interface ScopedResources extends Record<ManagedKind, { get(id: string): Placed | undefined }> {
  listGroups(): readonly Group[];
  listResourceRules(): readonly ResourceRule[];
}

export class AuthorizationScope {
  readonly #all: ScopedResources;

  constructor(all: ScopedResources) {
    this.#all = all;
  }

  /** What Kubernetes does not manage is seen by all who may read its kind. */
  canSee(caller: Caller, kind: string, stored: Placed): boolean {
    return this.#grants(caller, kind, "read", stored) ?? true;
  }

  /** Of what Kubernetes manages rules alone say what members may do, of anything else the role. */
  canUse(caller: Caller, kind: string, verb: Verb, permission: Permission, stored: Placed): boolean {
    return this.#grants(caller, kind, verb, stored) ?? permissionsOf[caller.role].includes(permission);
  }

  /** Whether rules let the caller name an alert or webhook of this id; one that is hidden is as one that is not there. */
  canName(caller: Caller, kind: ManagedKind, id: string): boolean {
    const stored = this.#all[kind].get(id);
    return stored !== undefined && this.canSee(caller, kind, stored);
  }

  /** Whether a silence of the caller's covers the alert: members silence what Kubernetes manages where they may change it. */
  canSilence(caller: Caller, alertId: string): boolean {
    const stored = this.#all.alerts.get(alertId);
    if (stored === undefined) return !isManaged(alertId) || !isRestricted(this.#now(caller));
    return this.#grants(caller, "alerts", "update", stored) ?? true;
  }

  /** Whether one reads all that another reads, whatever the rules. */
  canReadAllOf(caller: Caller, other: Caller): boolean {
    const [mine, theirs] = [this.#now(caller), this.#now(other)];
    if (!isRestricted(mine)) return true;
    const groups = theirs.groups ?? [];
    return isRestricted(theirs) && groups.length > 0 && groups.every((group) => mine.groups?.includes(group));
  }

  #now(caller: Caller): Caller {
    return withCurrentGroups(caller, () => this.#all.listGroups());
  }

  /** Undefined where rules have no say. */
  #grants(caller: Caller, plural: string, verb: Verb, { managed }: Placed): boolean | undefined {
    const kind = managedKinds.find((each) => each === plural);
    const now = this.#now(caller);
    if (kind === undefined || managed === undefined || !isRestricted(now)) return undefined;
    return canUseManaged(now, this.#all.listResourceRules(), kind, verb, managed);
  }
}
