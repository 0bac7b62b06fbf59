/**
 * The groups that callers are members of now: users of the identity provider, with the role that the groups give, and
 * bearers of tokens.
 */

import type { Group, GroupRole } from "../model/access-rules.ts";
import type { Caller, User } from "../model/caller.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Tokens } from "./tokens.ts";

/** In ascending order of rights. */
const groupRoles: readonly GroupRole[] = ["viewer", "editor", "admin"];

/** Makes the caller for a user. Throws Refusal 403 for a user who is a member of no group. */
export function callerOfUser(user: User & { name: string }, groups: readonly Group[]): Caller {
  const { name, ...rest } = user;
  const known = findMembership(user, groups);
  if (known.groups.length > 0) return { tokenId: null, name, user: rest, environment: null, ...known };
  const reason = `${JSON.stringify(name)} (user ${user.subject}) is in none of the groups here: their oidcMappings name none of ${JSON.stringify(user.claimed).slice(0, 500)}`;
  throw new Refusal(403, "you are known to the identity provider, but no group here takes you in", {
    reason,
  });
}

/** The caller with the groups and role that a user has now; callers that are no users stay as they are. */
export function withCurrentGroups(caller: Caller, groups: () => readonly Group[]): Caller {
  return caller.user === undefined ? caller : { ...caller, ...findMembership(caller.user, groups()) };
}

/**
 * The bearer with the groups that the token has now, or had last. What somebody saved goes by groups: it does not end
 * with the token.
 */
export function withTokenGroups(caller: Caller, tokens: Pick<Tokens, "groupsOf">): Caller {
  const groups = caller.tokenId === null ? undefined : tokens.groupsOf(caller.tokenId);
  return groups === undefined ? caller : { ...caller, groups };
}

/** The user's groups; the role is the highest that one of them gives. */
function findMembership({ claimed }: User, groups: readonly Group[]): { groups: string[]; role: GroupRole } {
  const own = groups.filter(({ oidcMappings = [] }) => oidcMappings.some((name) => claimed.includes(name)));
  const ranks = own.map(({ role = "viewer" }) => groupRoles.indexOf(role));
  return { groups: own.map(({ name }) => name), role: groupRoles[Math.max(0, ...ranks)]! };
}
