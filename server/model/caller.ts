/** Who asks, in which role, and what a request may want to do. */

export const roles = ["admin", "editor", "viewer", "ingest"] as const;
export type Role = (typeof roles)[number];

/** What a request wants to do; a route names one. */
export type Permission =
  | "search"
  | "notify"
  | "ingest"
  | "configure"
  | "manage access"
  | "manage tokens"
  | "back up";

/** A person whom the identity provider vouches for. */
export interface User {
  /** The provider's name for the person, which never becomes another's. */
  subject: string;
  email?: string;
  /** What the provider says of the person's groups: which groups here these are is looked up when it matters. */
  claimed: readonly string[];
}

/** Who asks: the bearer of a token, a user of the identity provider, or one who sent no token. */
export interface Caller {
  /** Id of the token (not the token itself); null without one. */
  tokenId: string | null;
  user?: User;
  name: string;
  role: Role | "anonymous";
  /** Whose rules say what the caller may see; null: no rules, the role alone. */
  groups: readonly string[] | null;
  /** Stamped on the rows that the caller sends; null: none. */
  environment: string | null;
}

/** Whose purse pays: one for each token and each user, one for all who sent neither. */
export function rateLimitKeyOf({ tokenId, user }: Caller): string {
  if (user !== undefined) return `user ${user.subject}`;
  return tokenId === null ? "anonymous" : `token ${tokenId}`;
}
