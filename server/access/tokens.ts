/** Access tokens: stored in the control-plane state, and held in memory for the look-up of every request. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { State, StateChange } from "../../engine/index.ts";
import type { Caller, Role } from "../model/caller.ts";
import { roles } from "../model/caller.ts";

/** What is stored of a token: enough to verify it, not enough to use it. */
export interface TokenRecord extends SentBounds {
  id: string;
  name: string;
  role: Role;
  /**
   * SHA-256 of the secret, base64url. A secret of 256 random bits cannot be guessed, so a slow hash would add nothing.
   */
  secretHash: string;
  createdAtMs: number;
  /** Unix milliseconds from which on it is refused; null: never. */
  expiresAtMs: number | null;
  /** Groups whose rules say what the bearer sees; absent: the role alone decides. */
  groups?: readonly string[];
  /** Environment whose name is stamped on the rows that the bearer sends. */
  environment?: string;
}

/** Rows and bytes that the bearer may send per second; null: unlimited, absent: the server's limits. */
export interface IngestBounds {
  rowsPerSecond?: number | null | undefined;
  bytesPerSecond?: number | null | undefined;
}

/** Only the bounds that are present. */
export function ingestBoundsOf({ rowsPerSecond, bytesPerSecond }: IngestBounds): SentBounds {
  return {
    ...(rowsPerSecond === undefined ? {} : { rowsPerSecond }),
    ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
  };
}

/** The bounds as they are stored and sent: absent rather than undefined. */
export interface SentBounds {
  rowsPerSecond?: number | null;
  bytesPerSecond?: number | null;
}

/** A token before its id and secret are made. */
export type NewToken = Omit<TokenRecord, "id" | "secretHash" | "createdAtMs">;

/** Writes changes, all or none. */
type WriteChanges = (changes: readonly StateChange[]) => Promise<void>;

const table = "tokens";
/** The time of each token's last use; a table of its own, since it changes all the time. */
const usesTable = "token-uses";
/** Groups of tokens that were revoked, by the id of the token. */
const revokedTable = "revoked-tokens";
const prefix = "svc_";
const idBytes = 6;
const secretBytes = 32;
/**
 * `svc_`, the id in hex, `_`, the secret in base64url: the id finds the record, the prefix lets secret scanners find
 * the token.
 */
const tokenForm = /^svc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
/** Compared against where no record is found, so that an unknown id takes as long as a wrong secret. */
const noHash = Buffer.alloc(32).toString("base64url");

/** All access tokens of a server. */
export class Tokens {
  readonly #state: State;
  readonly #now: () => number;
  readonly #records = new Map<string, TokenRecord>();
  readonly #usedAtMs = new Map<string, number>();
  /** Groups of tokens that were revoked and have saved alerts; null for a token without groups. */
  readonly #revokedGroups = new Map<string, readonly string[] | null>();

  constructor(state: State, now: () => number) {
    this.#state = state;
    this.#now = now;
    for (const { id, value } of state.list(table)) this.#records.set(id, recordOf(id, value));
    for (const { id, value: ms } of state.list(usesTable)) {
      if (this.#records.has(id) && typeof ms === "number") this.#usedAtMs.set(id, ms);
    }
    for (const { id, value } of state.list(revokedTable))
      this.#revokedGroups.set(id, value as readonly string[] | null);
  }

  /** The caller whom a token stands for; null where it is malformed, unknown, expired or revoked. */
  callerOf(token: string): Caller | null {
    const [, id, secret] = tokenForm.exec(token) ?? [];
    if (id === undefined || secret === undefined) return null;
    const record = this.#records.get(id);
    const expected = Buffer.from(record?.secretHash ?? noHash, "base64url");
    const isMatch = timingSafeEqual(hashOf(secret), expected);
    return isMatch ? this.callerOfId(id) : null;
  }

  /** The bearer of the token of this id, whose secret was checked before; null where it is unknown or expired. */
  callerOfId(id: string): Caller | null {
    const record = this.#records.get(id);
    if (record === undefined || !this.isValid(record)) return null;
    this.#usedAtMs.set(id, this.#now());
    const { name, role, groups = null, environment = null } = record;
    return { tokenId: id, name, role, groups, environment };
  }

  /** Makes a token. The answer alone holds `token`: it cannot be shown again. Resolves once `commit` has it on disk. */
  async create(
    newToken: NewToken,
    commit: (record: TokenRecord, changes: StateChange[], write: WriteChanges) => Promise<void>,
  ): Promise<{ record: TokenRecord; token: string }> {
    const minted = mintToken(newToken, this.#now());
    const { record } = minted;
    await commit(record, [additionOf(record)], (changes) => this.#state.write(changes));
    this.#records.set(record.id, record);
    return minted;
  }

  async add(record: TokenRecord): Promise<void> {
    await this.#state.write([additionOf(record)]);
    this.#records.set(record.id, record);
  }

  /**
   * Replaces a record; the secret stays. The change holds at once, before it is on disk, and no more where `commit`
   * throws.
   */
  async change(
    record: TokenRecord,
    commit: (changes: StateChange[], write: WriteChanges) => Promise<void>,
  ): Promise<void> {
    this.#records.set(record.id, record);
    try {
      await commit([additionOf(record)], (changes) => this.#state.write(changes));
    } finally {
      this.#reload(record.id);
    }
  }

  /**
   * Deletes tokens. They are refused from this moment on, before the change is on disk. Where `commit` throws they are
   * taken again, as they would be after a restart. `hasSaved`: whether a token has saved what goes on with its groups.
   */
  async revoke(
    ids: readonly string[],
    hasSaved: (id: string) => boolean,
    commit: (changes: StateChange[], write: WriteChanges) => Promise<void>,
  ): Promise<void> {
    const kept = ids.filter(hasSaved).map((id) => [id, this.#records.get(id)?.groups ?? null] as const);
    for (const id of ids) this.#records.delete(id);
    const changes: StateChange[] = [
      ...ids.flatMap((id) => [table, usesTable].map((from) => ({ table: from, id, value: undefined }))),
      ...kept.map(([id, groups]) => ({ table: revokedTable, id, value: groups && [...groups] })),
    ];
    try {
      await commit(changes, (all) => this.#state.write(all));
      for (const [id, groups] of kept) this.#revokedGroups.set(id, groups);
    } finally {
      for (const id of ids) this.#reload(id);
    }
  }

  /**
   * The groups of a token, also of one that has expired, or was revoked and had saved something; null for a token
   * without groups, undefined where nothing is known of the token.
   */
  groupsOf(id: string): readonly string[] | null | undefined {
    const record = this.#records.get(id);
    return record === undefined ? this.#revokedGroups.get(id) : (record.groups ?? null);
  }

  /** Makes the record in memory what was committed last. */
  #reload(id: string): void {
    const value = this.#state.get(table, id);
    if (value !== undefined) this.#records.set(id, recordOf(id, value));
    else {
      this.#records.delete(id);
      this.#usedAtMs.delete(id);
    }
  }

  /** Unix milliseconds of the token's last use; null where none is recorded. */
  usedAtMs(id: string): number | null {
    return this.#usedAtMs.get(id) ?? null;
  }

  /** Stores the times of last use that changed since they were stored last. */
  async storeUses(): Promise<void> {
    const changed = [...this.#usedAtMs].filter(([id, ms]) => this.#state.get(usesTable, id) !== ms);
    if (changed.length === 0) return;
    await this.#state.write(changed.map(([id, value]) => ({ table: usesTable, id, value })));
  }

  /** The limits on what the bearer may send, as far as the token sets them. */
  boundsOf(id: string): SentBounds {
    return ingestBoundsOf(this.#records.get(id) ?? {});
  }

  get(id: string): TokenRecord | undefined {
    return this.#records.get(id);
  }

  /** Oldest first, expired ones too. */
  list(): TokenRecord[] {
    return [...this.#records.values()].sort(
      (a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1),
    );
  }

  /** True where a valid token of role admin exists. */
  get hasAdmin(): boolean {
    return this.list().some((record) => record.role === "admin" && this.isValid(record));
  }

  isValid(record: TokenRecord): boolean {
    return record.expiresAtMs === null || record.expiresAtMs > this.#now();
  }
}

function additionOf(record: TokenRecord): StateChange {
  return { table, id: record.id, value: { ...record } };
}

/** Makes a random token and its record; stores nothing. */
export function mintToken(newToken: NewToken, nowMs: number): { record: TokenRecord; token: string } {
  const id = randomBytes(idBytes).toString("hex");
  const secret = randomBytes(secretBytes).toString("base64url");
  const secretHash = hashOf(secret).toString("base64url");
  return { record: { id, ...newToken, secretHash, createdAtMs: nowMs }, token: `${prefix}${id}_${secret}` };
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Throws an Error where the state holds a record that this program did not write. */
function recordOf(id: string, value: unknown): TokenRecord {
  const record = value as TokenRecord;
  const isValid =
    typeof record.name === "string" && roles.includes(record.role) && typeof record.secretHash === "string";
  if (!isValid) throw new Error(`the record of token ${id} is not one that this version wrote`);
  return record;
}
