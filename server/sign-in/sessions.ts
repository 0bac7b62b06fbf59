/** All sessions of a server: stored in the control-plane state under the hashes of their secrets. */

import { createHash, randomBytes } from "node:crypto";
import type { Json, State, StateChange } from "../../engine/index.ts";
import type { Caller } from "../model/caller.ts";
import { sessionsMax, sessionsOfHolderMax } from "./limits.ts";
import {
  type BegunSession,
  type Credential,
  holderOf,
  isOver,
  makeSession,
  type Session,
  sessionOf,
} from "./session.ts";

const table = "sessions";
/** The time of each session's last use; a table of its own, since it changes all the time. */
const usesTable = "session-uses";
const secretBytes = 32;
/** Changes in one commit of a sweep: a few milliseconds of work. */
const changesPerCommit = 1_000;

export interface SessionsOptions {
  state: State;
  /** Unix milliseconds. */
  now: () => number;
  /**
   * The caller that a credential stands for at this moment; null where it does so no more. Throws Refusal 403 for a
   * user who is in no group.
   */
  callerOf(credential: Credential): Caller | null;
}

/** Stores changes of a session; `id` is its name in the audit log. */
type Commit = (
  id: string,
  changes: readonly StateChange[],
  write: (changes: readonly StateChange[]) => Promise<void>,
) => Promise<void>;

export class Sessions {
  readonly #options: SessionsOptions;
  /** By the hash of the secret. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    for (const { id, value } of options.state.list(table))
      this.#sessions.set(id, sessionOf(value, options.state.get(usesTable, id)));
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * The session of a secret and its caller at this moment, and counts the use; null where there is none or it is over.
   * Throws Refusal 403 for a user who is in no group. A hash is looked up, so the time tells nothing of other secrets.
   */
  find(secret: string): { session: Session; caller: Caller } | null {
    const session = this.#sessions.get(hashOf(secret));
    const nowMs = this.#options.now();
    if (session === undefined || isOver(session, nowMs)) return null;
    const caller = this.#options.callerOf(session.credential);
    if (caller === null) return null;
    session.usedAtMs = nowMs;
    return { session, caller };
  }

  /** Begins a session. The answer alone holds its secret. Resolves once `commit` has it on disk. */
  async open(credential: Credential, tokenEndsAtMs: number | null, commit: Commit): Promise<BegunSession> {
    const secret = randomBytes(secretBytes).toString("base64url");
    const hash = hashOf(secret);
    const session = makeSession(credential, tokenEndsAtMs, this.#options.now());
    const superfluous = this.#findSuperfluous(holderOf(session));
    const { usedAtMs: _, ...record } = session;
    const addition: StateChange = { table, id: hash, value: record as unknown as Json };
    // In memory before it is on disk, so that sign-ins at the same time count each other. Nobody has the secret yet.
    this.#sessions.set(hash, session);
    for (const [each] of superfluous) this.#sessions.delete(each);
    const deletions = superfluous.flatMap(([each]) => deletionsOf(each));
    try {
      await commit(idOf(hash), [addition, ...deletions], (changes) => this.#options.state.write(changes));
    } catch (error) {
      this.#sessions.delete(hash);
      for (const [each, ended] of superfluous) this.#sessions.set(each, ended);
      throw error;
    }
    return { secret, session };
  }

  /**
   * Ends a session and returns it; undefined where there was none. It is over from this moment on, before that is on
   * disk, and goes on where `commit` throws.
   */
  async end(secret: string, commit: (session: Session) => Commit): Promise<Session | undefined> {
    const hash = hashOf(secret);
    const session = this.#sessions.get(hash);
    if (session === undefined) return undefined;
    this.#sessions.delete(hash);
    try {
      await commit(session)(idOf(hash), deletionsOf(hash), (changes) => this.#options.state.write(changes));
    } catch (error) {
      this.#sessions.set(hash, session);
      throw error;
    }
    return session;
  }

  /** Removes the sessions that are over, and stores the times of last use that changed: a thousand in one commit. */
  async sweep(): Promise<void> {
    const { state, now } = this.#options;
    const nowMs = now();
    let changes: StateChange[] = [];
    for (const [hash, session] of this.#sessions) {
      if (isOver(session, nowMs)) {
        this.#sessions.delete(hash);
        changes.push(...deletionsOf(hash));
      } else if (state.get(usesTable, hash) !== session.usedAtMs) {
        changes.push({ table: usesTable, id: hash, value: session.usedAtMs });
      }
      if (changes.length < changesPerCommit) continue;
      const full = changes;
      changes = [];
      await state.write(full);
    }
    if (changes.length > 0) await state.write(changes);
  }

  /** The sessions that have to end before one more of the holder begins: those that were used longest ago. */
  #findSuperfluous(holder: string): [hash: string, Session][] {
    const own = [...this.#sessions].filter(([, session]) => holderOf(session) === holder);
    const count = Math.max(0, own.length + 1 - sessionsOfHolderMax);
    const ofHolder = own.sort(byUse).slice(0, count);
    if (count > 0 || this.#sessions.size < sessionsMax) return ofHolder;
    return [[...this.#sessions].reduce((a, b) => (byUse(a, b) <= 0 ? a : b))];
  }
}

function byUse([, a]: readonly [string, Session], [, b]: readonly [string, Session]): number {
  return a.usedAtMs - b.usedAtMs;
}

function deletionsOf(hash: string): StateChange[] {
  return [table, usesTable].map((from) => ({ table: from, id: hash, value: undefined }));
}

/** SHA-256 in hex. A secret of 256 random bits cannot be guessed, so a slow hash would add nothing. */
function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** The name of a session in the audit log, by which nobody can use it. */
function idOf(hash: string): string {
  return hash.slice(0, 12);
}
