/** Tokens: who may ask. Kept in the control-plane state, and in memory for the look-up of every request. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { State, StateChange } from "../../engine/index.ts";
import type { Caller, Role } from "../model/caller.ts";
import { roles } from "../model/caller.ts";

/** What is stored of a token: enough to recognise it, not to use it. */
export interface TokenRecord extends SentBounds {
  id: string;
  name: string;
  role: Role;
  /** SHA-256 of the secret, base64url. A secret of 256 random bits cannot be guessed, so a slow hash would add nothing. */
  secretHash: string;
  createdAtMs: number;
  /** From then on it is refused; null: never. */
  expiresAtMs: number | null;
  /** Its bearer is a member of these and sees what their rules grant; absent: the role alone counts. */
  groups?: readonly string[];
  /** Stamped on the rows that its bearer sends. */
  environment?: string;
}

/** How many rows and bytes the bearer may send a second; null: any number, absent: what the server says for all. */
export interface IngestBounds {
  rowsPerSecond?: number | null | undefined;
  bytesPerSecond?: number | null | undefined;
}

/** Those that there are. */
export function ingestBoundsOf({ rowsPerSecond, bytesPerSecond }: IngestBounds): SentBounds {
  return {
    ...(rowsPerSecond === undefined ? {} : { rowsPerSecond }),
    ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
  };
}

export interface SentBounds {
  rowsPerSecond?: number | null;
  bytesPerSecond?: number | null;
}

export type NewToken = Omit<TokenRecord, "id" | "secretHash" | "createdAtMs">;

/** Writes changes, all or none. */
type Writing = (changes: readonly StateChange[]) => Promise<void>;

const table = "tokens";
/** Apart from the records, for it changes all the time. */
const usesTable = "token-uses";
const prefix = "svc_";
const idBytes = 6;
const secretBytes = 32;
/** `svc_`, the id in hex, `_`, the secret in base64url: the id finds the record, the prefix lets secret scanners find the token. */
const tokenForm = /^svc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
/** Read and compared against where no record is found, so that an unknown id takes as long as a wrong secret. */
const noHash = Buffer.alloc(32).toString("base64url");

export class Tokens {
  readonly #state: State;
  readonly #now: () => number;
  readonly #records = new Map<string, TokenRecord>();
  readonly #usedAtMs = new Map<string, number>();

  constructor(state: State, now: () => number) {
    this.#state = state;
    this.#now = now;
    for (const [id, value] of state.list(table)) this.#records.set(id, recordOf(id, value));
    for (const [id, ms] of state.list(usesTable)) {
      if (this.#records.has(id) && typeof ms === "number") this.#usedAtMs.set(id, ms);
    }
  }

  /** Whose token it is; null where it is malformed, unknown, expired or revoked. */
  callerOf(token: string): Caller | null {
    const [, id, secret] = tokenForm.exec(token) ?? [];
    if (id === undefined || secret === undefined) return null;
    const record = this.#records.get(id);
    const expected = Buffer.from(record?.secretHash ?? noHash, "base64url");
    const isRight = timingSafeEqual(hashOf(secret), expected);
    if (!isRight || record === undefined || !this.isValid(record)) return null;
    this.#usedAtMs.set(id, this.#now());
    const { name, role, groups = null, environment = null } = record;
    return { tokenId: id, name, role, groups, environment };
  }

  /** The new token is in `token` and nowhere else: it cannot be shown again. Resolves once `commit` has it on disk. */
  async create(
    wanted: NewToken,
    commit: (record: TokenRecord, changes: StateChange[], write: Writing) => Promise<void>,
  ): Promise<{ record: TokenRecord; token: string }> {
    const minted = mintToken(wanted, this.#now());
    const { record } = minted;
    await commit(record, [addition(record)], (changes) => this.#state.write(changes));
    this.#records.set(record.id, record);
    return minted;
  }

  async add(record: TokenRecord): Promise<void> {
    await this.#state.write([addition(record)]);
    this.#records.set(record.id, record);
  }

  /** Writes a record anew; the secret stays. What it takes away is taken at once, before the disk has it. */
  async change(
    record: TokenRecord,
    commit: (changes: StateChange[], write: Writing) => Promise<void>,
  ): Promise<void> {
    this.#records.set(record.id, record);
    await commit([addition(record)], (changes) => this.#state.write(changes));
  }

  /** The tokens are refused from this moment on, before the disk has it. */
  async revoke(
    ids: readonly string[],
    commit: (changes: StateChange[], write: Writing) => Promise<void>,
  ): Promise<void> {
    for (const id of ids) {
      this.#records.delete(id);
      this.#usedAtMs.delete(id);
    }
    const gone = ids.flatMap((id) =>
      [table, usesTable].map((from) => ({ table: from, id, value: undefined })),
    );
    await commit(gone, (changes) => this.#state.write(changes));
  }

  /** When its bearer last asked for something; null: never since uses were kept. */
  usedAtMs(id: string): number | null {
    return this.#usedAtMs.get(id) ?? null;
  }

  /** Writes down when tokens were used, those that changed since the last time. */
  async storeUses(): Promise<void> {
    const changed = [...this.#usedAtMs].filter(([id, ms]) => this.#state.get(usesTable, id) !== ms);
    if (changed.length === 0) return;
    await this.#state.write(changed.map(([id, value]) => ({ table: usesTable, id, value })));
  }

  /** What its bearer may send a second, as far as the token says. */
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

  /** Somebody can still administer the server. */
  get hasAdmin(): boolean {
    return this.list().some((record) => record.role === "admin" && this.isValid(record));
  }

  isValid(record: TokenRecord): boolean {
    return record.expiresAtMs === null || record.expiresAtMs > this.#now();
  }
}

function addition(record: TokenRecord): StateChange {
  return { table, id: record.id, value: { ...record } };
}

export function mintToken(wanted: NewToken, nowMs: number): { record: TokenRecord; token: string } {
  const id = randomBytes(idBytes).toString("hex");
  const secret = randomBytes(secretBytes).toString("base64url");
  const secretHash = hashOf(secret).toString("base64url");
  return { record: { id, ...wanted, secretHash, createdAtMs: nowMs }, token: `${prefix}${id}_${secret}` };
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Throws an Error where the state holds something else than this program wrote. */
function recordOf(id: string, value: unknown): TokenRecord {
  const record = value as TokenRecord;
  const isWhole =
    typeof record.name === "string" && roles.includes(record.role) && typeof record.secretHash === "string";
  if (!isWhole) throw new Error(`the record of token ${id} is not one that this version wrote`);
  return record;
}
