/** Callers: who sends a request, in which role, and the permissions that routes require. */

export const roles = ["admin", "editor", "viewer", "ingest"] as const;
export type Role = (typeof roles)[number];

/** What a caller must be allowed to do; each route requires one. Everybody may "sign in", and ask who they are. */
export type Permission =
  | "search"
  | "notify"
  | "ingest"
  | "configure"
  | "manage access"
  | "manage tokens"
  | "back up"
  | "synchronize"
  | "sign in";

/** A person whom the identity provider vouches for. */
export interface User {
  /** The provider's id of the person, which it never gives to another. */
  subject: string;
  email?: string;
  /** Groups that the provider names. They are mapped to groups of this server at each use. */
  claimed: readonly string[];
}

/** Who sends a request: the bearer of a token, a user of the identity provider, or one who sent no token. */
export interface Caller {
  /** Id of the token (not the token itself); null without one. */
  tokenId: string | null;
  user?: User;
  /** Display name; not unique. */
  name: string;
  /** "cluster": a cluster whose exporter saves what its objects say. It reads the rows of its own environment. */
  role: Role | "anonymous" | "cluster";
  /** Names of groups whose rules bind the caller; null: no rules, the role alone decides. */
  groups: readonly string[] | null;
  /** Name of the environment that is stamped on the caller's rows; null: none. */
  environment: string | null;
}

/** The key of the caller's token bucket: one for each token and each user, one for all callers who sent neither. */
export function rateLimitKeyOf({ tokenId, user }: Pick<Caller, "tokenId" | "user">): string {
  if (user !== undefined) return `user ${user.subject}`;
  return tokenId === null ? "anonymous" : `token ${tokenId}`;
}
