/**
 * The audit log: who changed what, and who was refused, as rows of the logs. The entry of a change is written in the
 * transaction of the change itself and then moved to the logs, so that no crash separates the two. After a crash the
 * logs may hold it twice, under one `audit.id`.
 */

import { randomBytes } from "node:crypto";
import type { Json, LogRow, State, StateChange } from "../../engine/index.ts";
import type { Caller } from "../model/caller.ts";
import { tryLater } from "../throttle/refusal.ts";
import { auditEntriesWaitingMax, refusalsAuditedPerSecond } from "./limits.ts";

/** A change of a stored resource or a token, or a backup. */
export interface AuditedChange {
  by: Caller;
  action: "created" | "updated" | "deleted";
  /** `alert`, `dashboard` … */
  resource: string;
  id: string;
  /** Display name. */
  title: string;
}

/** A request that was not allowed. */
export interface RefusedRequest {
  by: Caller | null;
  method: string;
  /** The route's path pattern, which holds nothing that the caller sent; "none" where no route was found. */
  path: string;
  status: number;
  reason: string;
  /** Network address of the client. */
  address: string;
}

export interface AuditOptions {
  state: State;
  append(rows: readonly LogRow[]): Promise<unknown>;
  now: () => number;
  log: (message: string) => void;
}

interface AuditEntry {
  atMs: number;
  level: string;
  message: string;
  attributes: Record<string, string>;
}

const table = "audit";
const nsPerMs = 1_000_000n;
const refusalsWriteMs = 1_000;

export class Audit {
  readonly #options: AuditOptions;
  /** Entries that are not in the logs yet, by their id in the state. An id is used again once its entry has moved. */
  readonly #pending = new Map<string, AuditEntry>();
  readonly #freeIds: string[] = [];
  #ids = 0;
  #moving: Promise<void> | undefined;
  #refusals: AuditEntry[] = [];
  /** Refusals of the current second that were only counted. */
  #refusalsNotListed = 0;
  #refusalsTimer: NodeJS.Timeout | undefined;

  /** Moves the entries that an earlier process left in the state. */
  constructor(options: AuditOptions) {
    this.#options = options;
    for (const { id, value } of options.state.list(table)) {
      this.#ids = Math.max(this.#ids, Number.parseInt(id, 10) + 1);
      this.#pending.set(id, value as unknown as AuditEntry);
    }
    this.#moveSoon();
  }

  /** Commits the changes together with their audit entry. Throws Refusal 503 where too many entries wait. */
  commit(
    change: AuditedChange,
    changes: readonly StateChange[],
    write: (changes: readonly StateChange[]) => Promise<unknown>,
  ): Promise<void> {
    return this.commitAll([change], changes, write);
  }

  /** The same for changes with an entry each. */
  async commitAll(
    audited: readonly AuditedChange[],
    changes: readonly StateChange[],
    write: (changes: readonly StateChange[]) => Promise<unknown>,
  ): Promise<void> {
    if (this.#pending.size >= auditEntriesWaitingMax) {
      this.#moveSoon();
      throw tryLater("the audit log cannot be written just now, so nothing is changed; try again", 5);
    }
    const nowMs = this.#options.now();
    const entries = audited.map((each) => ({
      id: this.#freeIds.pop() ?? String(this.#ids++),
      entry: entryOfChange(each, nowMs),
    }));
    const added = entries.map(({ id, entry }) => ({ table, id, value: entry as unknown as Json }));
    try {
      await write([...changes, ...added]);
    } catch (error) {
      for (const { id } of entries) this.#freeIds.push(id);
      throw error;
    }
    for (const { id, entry } of entries) this.#pending.set(id, entry);
    this.#moveSoon();
  }

  /** Writes the refusal to the logs within a second. Above `refusalsAuditedPerSecond` refusals are only counted. */
  recordRefusal(request: RefusedRequest): void {
    if (this.#refusals.length < refusalsAuditedPerSecond) {
      this.#refusals.push(entryOfRefusal(request, this.#options.now()));
    } else {
      this.#refusalsNotListed++;
    }
    this.#refusalsTimer ??= setTimeout(() => void this.#writeRefusals(), refusalsWriteMs);
  }

  /** Resolves once all entries so far are in the logs, or could not be written there. */
  async close(): Promise<void> {
    await this.#writeRefusals();
    await this.#moving;
  }

  #moveSoon(): void {
    if (this.#pending.size === 0) return;
    this.#moving ??= this.#move();
  }

  /**
   * Moves entries to the logs until none is pending. On failure they stay in the state, for the next change or start.
   */
  async #move(): Promise<void> {
    try {
      while (this.#pending.size > 0) {
        const moved = [...this.#pending];
        await this.#options.append(moved.map(([, entry]) => rowOf(entry)));
        await this.#options.state.write(moved.map(([id]) => ({ table, id, value: undefined })));
        for (const [id] of moved) {
          this.#pending.delete(id);
          this.#freeIds.push(id);
        }
      }
    } catch (error) {
      this.#options.log(`the audit log could not be written: ${reasonOf(error)}`);
    } finally {
      this.#moving = undefined;
    }
  }

  async #writeRefusals(): Promise<void> {
    clearTimeout(this.#refusalsTimer);
    this.#refusalsTimer = undefined;
    const entries = this.#refusals;
    this.#refusals = [];
    if (this.#refusalsNotListed > 0)
      entries.push(entryOfRefusalCount(this.#refusalsNotListed, this.#options.now()));
    this.#refusalsNotListed = 0;
    if (entries.length === 0) return;
    try {
      await this.#options.append(entries.map(rowOf));
    } catch (error) {
      this.#options.log(`${entries.length} refused requests are not in the audit log: ${reasonOf(error)}`);
    }
  }
}

function entryOfChange({ by, action, resource, id, title }: AuditedChange, atMs: number): AuditEntry {
  const subject = title === id ? JSON.stringify(id) : `${JSON.stringify(title)} (${id})`;
  const message = `${resource} ${subject} was ${action} by ${nameOf(by)}`;
  const attributes = { audit: "change", action, resource, "resource.id": id, ...actorAttributes(by) };
  return makeEntry(atMs, "info", message, attributes);
}

function entryOfRefusal(request: RefusedRequest, atMs: number): AuditEntry {
  const { by, method, path, status, reason, address } = request;
  const message = `${method} ${path} of ${nameOf(by)} was refused with ${status}: ${reason}`;
  return makeEntry(atMs, "warn", message, {
    audit: "refused",
    "http.method": method,
    "http.route": path,
    "http.status": String(status),
    "client.address": address,
    ...actorAttributes(by),
  });
}

function entryOfRefusalCount(count: number, atMs: number): AuditEntry {
  const message = `${count} more requests were refused within a second`;
  return makeEntry(atMs, "warn", message, { audit: "refused", count: String(count) });
}

function makeEntry(
  atMs: number,
  level: string,
  message: string,
  attributes: Record<string, string>,
): AuditEntry {
  const id = randomBytes(9).toString("base64url");
  return { atMs, level, message, attributes: { ...attributes, "audit.id": id } };
}

function nameOf(by: Caller | null): string {
  if (by === null) return "an unknown caller";
  if (by.user !== undefined) return `${JSON.stringify(by.name)} (user ${by.user.subject})`;
  return by.tokenId === null ? by.name : `${JSON.stringify(by.name)} (token ${by.tokenId})`;
}

function actorAttributes(by: Caller | null): Record<string, string> {
  if (by === null) return {};
  const { name, role, tokenId, user } = by;
  return {
    actor: name,
    role,
    ...(tokenId === null ? {} : { "token.id": tokenId }),
    ...(user === undefined ? {} : { "user.id": user.subject }),
    ...(user?.email === undefined ? {} : { "user.email": user.email }),
  };
}

function rowOf({ atMs, level, message, attributes }: AuditEntry): LogRow {
  return {
    timeNs: BigInt(atMs) * nsPerMs,
    level,
    message,
    attributes: { "service.name": "svc", ...attributes },
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
