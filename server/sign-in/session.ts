/** A session: what is stored of it, when it is over, and who signed in. */

import * as z from "zod";
import { rateLimitKeyOf, type User } from "../model/caller.ts";
import { sessionIdleMsMax, sessionMsMax } from "./limits.ts";

const userShape = z.strictObject({
  subject: z.string(),
  name: z.string(),
  email: z.string().optional(),
  claimed: z.array(z.string()),
});

const sessionShape = z.strictObject({
  createdAtMs: z.number(),
  /** Unix milliseconds; a token that ends earlier ends the session, too. */
  endsAtMs: z.number(),
  /** What the session stands for, and what is checked again for every request. */
  credential: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("token"), tokenId: z.string() }),
    z.strictObject({
      kind: z.literal("user"),
      user: userShape,
      /** The settings by which the identity provider vouched for the user. */
      provider: z.string(),
      /** True where the user signed in at the provider's own page, and so can sign out there. */
      isAtProvider: z.boolean(),
    }),
  ]),
});

/** What is stored of a session, under the hash of its secret. */
export type SessionRecord = z.infer<typeof sessionShape>;

/** Who signs in. */
export type Credential = SessionRecord["credential"];

/** The credential of a user whom the identity provider vouches for, by these settings of the provider. */
export function credentialOf(
  { claimed, ...user }: User & { name: string },
  provider: string,
  isAtProvider: boolean,
): Credential {
  return { kind: "user", user: { ...user, claimed: [...claimed] }, provider, isAtProvider };
}

/** A session in memory. */
export interface Session extends SessionRecord {
  /** Unix milliseconds of the last request. */
  usedAtMs: number;
}

/** A session that has begun. Nothing else holds its secret. */
export interface BegunSession {
  secret: string;
  session: Session;
}

/** Throws an Error where the state holds a record that this program did not write. */
export function sessionOf(value: unknown, usedAtMs: unknown): Session {
  const record = sessionShape.safeParse(value);
  if (!record.success) throw new Error("the record of a session is not one that this version wrote");
  const { createdAtMs } = record.data;
  return { ...record.data, usedAtMs: typeof usedAtMs === "number" ? usedAtMs : createdAtMs };
}

/** A session that begins now. `tokenEndsAtMs`: Unix milliseconds; null: never. */
export function makeSession(credential: Credential, tokenEndsAtMs: number | null, nowMs: number): Session {
  const endsAtMs = Math.min(nowMs + sessionMsMax, tokenEndsAtMs ?? Number.POSITIVE_INFINITY);
  return { createdAtMs: nowMs, endsAtMs, credential, usedAtMs: nowMs };
}

/** Whether the session has come to its end, or was not used for too long. */
export function isOver({ endsAtMs, usedAtMs }: Session, nowMs: number): boolean {
  return nowMs >= endsAtMs || nowMs - usedAtMs >= sessionIdleMsMax;
}

/** Whose session it is: what the number of sessions is bounded for. */
export function holderOf({ credential }: SessionRecord): string {
  if (credential.kind === "token") return rateLimitKeyOf({ tokenId: credential.tokenId });
  const { subject, claimed } = credential.user;
  return rateLimitKeyOf({ tokenId: null, user: { subject, claimed } });
}
