/** Tokens: who may ask. Kept in the control-plane state, and in memory for the look-up of every request. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { State } from "../../engine/index.ts";
import type { Caller, Role } from "../route.ts";
import { roles } from "../route.ts";

/** What is stored of a token: enough to recognise it, not to use it. */
export interface TokenRecord {
  id: string;
  name: string;
  role: Role;
  /** SHA-256 of the secret, base64url. A secret of 256 random bits cannot be guessed, so a slow hash would add nothing. */
  secretHash: string;
  createdAtMs: number;
  /** From then on it is refused; null: never. */
  expiresAtMs: number | null;
}

export interface NewToken {
  name: string;
  role: Role;
  expiresAtMs: number | null;
}

const table = "tokens";
const prefix = "svc_";
const idBytes = 6;
const secretBytes = 32;
/** `svc_`, the id in hex, `_`, the secret in base64url: the id finds the record, the prefix lets secret scanners find the token. */
const tokenForm = /^svc_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
/** Compared against where no record is found, so that an unknown id takes as long as a wrong secret. */
const noHash = Buffer.alloc(32);

export class Tokens {
  readonly #state: State;
  readonly #now: () => number;
  readonly #records = new Map<string, TokenRecord>();

  constructor(state: State, now: () => number) {
    this.#state = state;
    this.#now = now;
    for (const [id, value] of state.list(table)) this.#records.set(id, recordOf(id, value));
  }

  /** Whose token it is; null where it is malformed, unknown, expired or revoked. */
  callerOf(token: string): Caller | null {
    const [, id, secret] = tokenForm.exec(token) ?? [];
    if (id === undefined || secret === undefined) return null;
    const record = this.#records.get(id);
    const expected = record === undefined ? noHash : Buffer.from(record.secretHash, "base64url");
    const isRight = timingSafeEqual(hashOf(secret), expected);
    if (!isRight || record === undefined || !this.#isValid(record)) return null;
    return { tokenId: id, name: record.name, role: record.role };
  }

  /** The new token is in `token` and nowhere else: it cannot be shown again. Resolves once it is on disk. */
  async create(wanted: NewToken): Promise<{ record: TokenRecord; token: string }> {
    const minted = mint(wanted, this.#now());
    await this.add(minted.record);
    return minted;
  }

  async add(record: TokenRecord): Promise<void> {
    await this.#state.write([{ table, id: record.id, value: { ...record } }]);
    this.#records.set(record.id, record);
  }

  /** False where there is none of that id. The token is refused from this moment on, before the disk has it. */
  async revoke(id: string): Promise<boolean> {
    const known = this.#records.delete(id);
    if (known) await this.#state.write([{ table, id, value: undefined }]);
    return known;
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
    return this.list().some((record) => record.role === "admin" && this.#isValid(record));
  }

  #isValid(record: TokenRecord): boolean {
    return record.expiresAtMs === null || record.expiresAtMs > this.#now();
  }
}

export function mint(wanted: NewToken, nowMs: number): { record: TokenRecord; token: string } {
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
