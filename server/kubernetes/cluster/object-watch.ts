/**
 * Follows a collection of objects: lists it, watches from there, and lists it anew where the watch lost its place,
 * and every ten minutes. Fails for itself alone: other collections go on.
 */

import type { IncomingMessage } from "node:http";
import { withJoinedSignal } from "../../throttle/joined-signal.ts";
import type { ApiClient } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import { type KubernetesObject, type ObjectCollection, pathOf } from "./kubernetes-object.ts";
import {
  absentKindMs,
  eventBytesMax,
  healthyMsMin,
  pageObjectsMax,
  relistMs,
  retryMsMax,
  retryMsMin,
  watchGraceMs,
  watchMsMin,
  watchSecondsMax,
  watchSecondsMin,
} from "./limits.ts";

/** Is told what happens to a collection. */
export interface ObjectWatcher {
  /**
   * All objects, from one complete list. `isRequested` is true where `relist` asked for it. Where lists come in pages,
   * the objects have their metadata alone.
   */
  listed(objects: KubernetesObject[], isRequested: boolean): void;
  changed(object: KubernetesObject): void;
  deleted(object: KubernetesObject): void;
}

export interface ObjectWatchOptions {
  client: Pick<ApiClient, "open" | "send">;
  collection: ObjectCollection;
  watcher: ObjectWatcher;
  /** From 0 to 1. */
  random: () => number;
  log: (message: string) => void;
  /** Time between complete lists, in milliseconds; ten minutes where it is absent. */
  relistMs?: number;
  /**
   * Passes the objects of a list to `changed` page by page, and keeps their metadata alone: for collections that are
   * too large to be held.
   */
  isPaged?: boolean;
}

/** The place in a collection's history is lost: it has to be listed anew. */
class PlaceLost extends Error {}

interface WatchEvent {
  type: string;
  object: KubernetesObject & { code?: number; message?: string };
}

interface ListPage {
  metadata: { resourceVersion: string; continue?: string };
  items: KubernetesObject[] | null;
}

export class ObjectWatch {
  readonly #options: ObjectWatchOptions;
  readonly #path: string;
  readonly #ending = new AbortController();
  #loop: Promise<void> | undefined;
  /** The version to watch from; undefined where the collection has to be listed. */
  #version: string | undefined;
  #listedAtMs = 0;
  #isRequested = false;
  #retryMs = 0;
  #problem: string | undefined;
  #hasListed = false;
  /** Ends the watch that goes on, or the pause. */
  #interrupt: () => void = () => undefined;

  constructor(options: ObjectWatchOptions) {
    this.#options = options;
    this.#path = pathOf(options.collection);
  }

  get collection(): ObjectCollection {
    return this.#options.collection;
  }

  /** Why the collection is not followed at the moment; undefined where it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** True once a complete list was there. */
  get hasListed(): boolean {
    return this.#hasListed;
  }

  run(): void {
    this.#loop ??= this.#run();
  }

  /** Lists everything anew, now. */
  relist(): void {
    this.#version = undefined;
    this.#isRequested = true;
    this.#interrupt();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    this.#interrupt();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const startedAtMs = performance.now();
      try {
        if (this.#isListDue()) await this.#list();
        await this.#watch();
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (performance.now() - startedAtMs > healthyMsMin) this.#retryMs = 0;
        await this.#recover(error);
      }
    }
  }

  #isListDue(): boolean {
    const { relistMs: every = relistMs } = this.#options;
    return this.#version === undefined || performance.now() - this.#listedAtMs > every;
  }

  /** Only a complete list reaches the watcher: what an incomplete one lacks would be taken for deleted. */
  async #list(): Promise<void> {
    const isRequested = this.#isRequested;
    const listedAtMs = performance.now();
    const { isPaged = false, watcher } = this.#options;
    const objects: KubernetesObject[] = [];
    let next: string | undefined;
    let version = "";
    do {
      const query = new URLSearchParams({ limit: String(pageObjectsMax), ...this.#selector() });
      if (next !== undefined) query.set("continue", next);
      const page = await this.#options.client.send<ListPage>(`${this.#path}?${query}`, {
        signal: this.#ending.signal,
      });
      for (const item of page.items ?? []) {
        const object = this.#complete(item);
        if (isPaged) watcher.changed(object);
        objects.push(isPaged ? { metadata: toReference(object) } : object);
      }
      version = page.metadata.resourceVersion;
      next = page.metadata.continue === "" ? undefined : page.metadata.continue;
    } while (next !== undefined);
    this.#version = version;
    this.#listedAtMs = listedAtMs;
    if (isRequested) this.#isRequested = false;
    this.#problem = undefined;
    this.#hasListed = true;
    watcher.listed(objects, isRequested);
  }

  async #watch(): Promise<void> {
    // `relist` may have come while the list was on its way.
    if (this.#version === undefined || this.#isRequested) {
      this.#version = undefined;
      return;
    }
    const seconds = Math.round(
      watchSecondsMin + this.#options.random() * (watchSecondsMax - watchSecondsMin),
    );
    const query = new URLSearchParams({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: this.#version,
      timeoutSeconds: String(seconds),
      ...this.#selector(),
    });
    const interrupted = new AbortController();
    this.#interrupt = () => interrupted.abort();
    const deadline = AbortSignal.timeout(seconds * 1_000 + watchGraceMs);
    const sources = [this.#ending.signal, interrupted.signal, deadline];
    try {
      await withJoinedSignal(sources, (signal) => this.#follow(query, signal));
    } catch (error) {
      // A watch that was silent for too long begins anew from where it was.
      if (interrupted.signal.aborted || deadline.aborted) return;
      throw error;
    }
  }

  /** Takes the events of one watch, until the server ends it. Throws where that was at once. */
  async #follow(query: URLSearchParams, signal: AbortSignal): Promise<void> {
    const response = await this.#options.client.open(`${this.#path}?${query}`, { signal });
    const openedAtMs = performance.now();
    // A watch that goes on follows the collection, though nothing may happen in it.
    const goingOn = setTimeout(() => {
      this.#problem = undefined;
    }, watchMsMin);
    let hasChanges = false;
    try {
      for await (const event of readEvents(response)) {
        this.#take(event);
        if (event.type !== "BOOKMARK") hasChanges = true;
      }
    } finally {
      clearTimeout(goingOn);
    }
    // Without a pause such watches would follow each other as fast as the server answers.
    if (!hasChanges && performance.now() - openedAtMs < watchMsMin)
      throw new ApiError("the watch ended at once", 0);
  }

  #take({ type, object }: WatchEvent): void {
    if (type === "ERROR") {
      if (object.code === 410) throw new PlaceLost();
      throw new ApiError(`the watch ended: ${object.message ?? "no reason was given"}`, object.code ?? 0);
    }
    const { watcher } = this.#options;
    if (type === "ADDED" || type === "MODIFIED") watcher.changed(this.#complete(object));
    else if (type === "DELETED") watcher.deleted(this.#complete(object));
    else if (type !== "BOOKMARK") return;
    this.#version = object.metadata.resourceVersion ?? this.#version;
    if (type === "BOOKMARK") return;
    this.#retryMs = 0;
    this.#problem = undefined;
  }

  async #recover(error: unknown): Promise<void> {
    const { log, random, collection } = this.#options;
    const status = error instanceof ApiError ? error.status : 0;
    if (!(error instanceof ApiError || error instanceof PlaceLost)) throw error;
    if (error instanceof PlaceLost || status === 410) this.#version = undefined;
    this.#retryMs = Math.min(retryMsMax, Math.max(retryMsMin, this.#retryMs * 2));
    let pauseMs = this.#retryMs * random();
    if (error instanceof ApiError && status !== 410) {
      if (this.#problem !== error.message) log(`${collection.plural}: ${error.message}`);
      this.#problem = error.message;
      pauseMs = Math.max(pauseMs, error.retryAfterMs ?? 0);
    }
    // A kind that is not installed or may not be read says so for long: its objects are not taken for deleted.
    if (status === 403 || status === 404) pauseMs = absentKindMs * (0.5 + random() / 2);
    if (status !== 0 || error instanceof PlaceLost) this.#version = undefined;
    await this.#pause(pauseMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#ending.signal.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#interrupt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #selector(): Record<string, string> {
    const { labelSelector, fieldSelector } = this.#options.collection;
    return {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  /** Items of lists have no kind of their own; managed fields are most of an object's bytes. */
  #complete(object: KubernetesObject): KubernetesObject {
    const { apiVersion, kind } = this.#options.collection;
    const { managedFields: _, ...metadata } = object.metadata as KubernetesObject["metadata"] & {
      managedFields?: unknown;
    };
    return { ...object, apiVersion, kind, metadata };
  }
}

function toReference({ metadata: { name, namespace, uid } }: KubernetesObject) {
  return { name, uid, ...(namespace === undefined ? {} : { namespace }) };
}

/** The events of a watch: one JSON object a line. */
async function* readEvents(response: IncomingMessage): AsyncGenerator<WatchEvent> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      let rest = piece;
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        pieces.push(rest.subarray(0, at));
        rest = rest.subarray(at + 1);
        const line = Buffer.concat(pieces).toString().trim();
        pieces = [];
        bytes = 0;
        if (line !== "") yield parseEvent(line);
      }
      bytes += rest.length;
      if (bytes > eventBytesMax) throw new ApiError("an event of the API server is too long", 0);
      if (rest.length > 0) pieces.push(rest);
    }
  } catch (error) {
    if (error instanceof ApiError || error instanceof PlaceLost) throw error;
    const { code, message } = error as Error & { code?: string };
    throw new ApiError(`the watch broke: ${code ?? message}`, 0);
  } finally {
    response.destroy();
  }
}

function parseEvent(line: string): WatchEvent {
  try {
    return JSON.parse(line) as WatchEvent;
  } catch {
    throw new ApiError("an event of the API server is no JSON", 0);
  }
}
