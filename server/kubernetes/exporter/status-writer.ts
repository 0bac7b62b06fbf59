/** Writes what became of objects into their status, by server-side apply, and only where it changed. */

import type { ApiClient } from "../cluster/api-client.ts";
import { ApiError } from "../cluster/api-error.ts";
import { pathOf } from "../cluster/kubernetes-object.ts";
import { pause } from "../cluster/pause.ts";
import { retryMsMax, retryMsMin, statusesAtOnce } from "./limits.ts";
import { nextStatus, type ObjectStatus, type SyncOutcome } from "./object-status.ts";
import type { ClusterObject } from "./object-sync.ts";

export interface StatusWriterOptions {
  client: Pick<ApiClient, "apply">;
  /** The collection of a kind. Undefined for what has no status. */
  collectionOf: (kind: string) => { apiVersion: string; plural: string } | undefined;
  nowMs: () => number;
  random: () => number;
  log: (message: string) => void;
}

interface Write {
  object: ClusterObject;
  status: ObjectStatus;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  /** The newest status of each object that was not written yet, by uid. */
  readonly #waiting = new Map<string, Write>();
  /** The status that was last given to an object, by uid. */
  readonly #known = new Map<string, ObjectStatus>();
  readonly #ending = new AbortController();
  #writers = 0;
  #retryMs = 0;
  #problem = "";

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Statuses that are not written yet. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes an outcome of an object. Returns whether its status changes by that. */
  take(object: ClusterObject, outcome: Omit<SyncOutcome, "generation">): boolean {
    const { uid, generation } = object.metadata;
    const before = this.#known.get(uid) ?? readStatus(object.status);
    const status = nextStatus(before, { generation, ...outcome }, this.#options.nowMs());
    this.#known.set(uid, status);
    if (status === before) return false;
    this.#waiting.set(uid, { object, status });
    this.#start();
    return true;
  }

  /** Forgets an object that was deleted. */
  forget(uid: string): void {
    this.#known.delete(uid);
    this.#waiting.delete(uid);
  }

  close(): void {
    this.#ending.abort();
  }

  #start(): void {
    while (this.#writers < statusesAtOnce && this.#writers < this.#waiting.size) {
      this.#writers++;
      void this.#run().finally(() => {
        this.#writers--;
        if (!this.#ending.signal.aborted && this.#waiting.size > this.#writers) this.#start();
      });
    }
  }

  async #run(): Promise<void> {
    for (const [uid, write] of this.#waiting) {
      if (this.#ending.signal.aborted) return;
      this.#waiting.delete(uid);
      try {
        await this.#write(write);
        this.#retryMs = 0;
        this.#problem = "";
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        await this.#recover(error, uid, write);
      }
    }
  }

  async #write({ object, status }: Write): Promise<void> {
    const { kind, metadata } = object;
    const { namespace, name, uid } = metadata;
    const collection = this.#options.collectionOf(kind);
    if (collection === undefined) return;
    const { apiVersion } = collection;
    const path = pathOf({ ...collection, kind, ...(namespace === undefined ? {} : { namespace }) });
    await this.#options.client.apply(`${path}/${encodeURIComponent(name)}/status`, {
      ...{ apiVersion, kind, status },
      // The uid: an object that was deleted and created again is another one.
      metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) },
    });
  }

  async #recover(error: ApiError, uid: string, write: Write): Promise<void> {
    // The object is gone, or is another one by now.
    if (error.status === 404 || error.status === 409) return;
    if (error.message !== this.#problem) this.#options.log(`a status could not be written: ${error.message}`);
    this.#problem = error.message;
    if (error.status === 422 || error.status === 400) return;
    if (!this.#waiting.has(uid) && this.#known.has(uid)) this.#waiting.set(uid, write);
    this.#retryMs = Math.min(retryMsMax, Math.max(retryMsMin, this.#retryMs * 2));
    const pauseMs = Math.max(error.retryAfterMs ?? 0, this.#retryMs * (0.5 + this.#options.random() / 2));
    await pause(pauseMs, this.#ending.signal);
  }
}

/** A status that somebody else wrote may have any shape. */
function readStatus(status: unknown): ObjectStatus | undefined {
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return Array.isArray(conditions) ? (status as ObjectStatus) : undefined;
}
