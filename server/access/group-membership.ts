/** Which groups here a user of the identity provider is a member of, and what follows. */

import { Refusal } from "../limits/refusal.ts";
import type { Group, GroupRole } from "../model/access-rules.ts";
import type { Caller, User } from "../model/caller.ts";

/** The least first. */
const groupRoles: readonly GroupRole[] = ["viewer", "editor", "admin"];

/** Throws Refusal 403 for one whom no group here takes in. */
export function callerOfUser(user: User & { name: string }, groups: readonly Group[]): Caller {
  const { name, ...rest } = user;
  const known = membership(user, groups);
  if (known.groups.length > 0) return { tokenId: null, name, user: rest, environment: null, ...known };
  const reason = `${JSON.stringify(name)} (user ${user.subject}) is in none of the groups here: their oidcMappings name none of ${JSON.stringify(user.claimed).slice(0, 500)}`;
  throw new Refusal(403, "you are known to the identity provider, but no group here takes you in", {
    reason,
  });
}

/** With the groups and the role that a user has now; any other caller stays as it is. */
export function withCurrentGroups(caller: Caller, groups: () => readonly Group[]): Caller {
  return caller.user === undefined ? caller : { ...caller, ...membership(caller.user, groups()) };
}

/** The role is the greatest that a group of the user's gives. */
function membership({ claimed }: User, groups: readonly Group[]): { groups: string[]; role: GroupRole } {
  const own = groups.filter(({ oidcMappings = [] }) => oidcMappings.some((name) => claimed.includes(name)));
  const ranks = own.map(({ role = "viewer" }) => groupRoles.indexOf(role));
  return { groups: own.map(({ name }) => name), role: groupRoles[Math.max(0, ...ranks)]! };
}
