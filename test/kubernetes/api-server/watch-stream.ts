/** One open watch: events from a revision on, bookmarks, an end after its time. */
import type { ServerResponse } from "node:http";
import { groupVersion, type ResourceKind } from "./kind/kinds.ts";
import type { Fields, KubernetesObject } from "./objects.ts";
import type { Selector } from "./selector.ts";
import { expired, StatusError } from "./status.ts";
import type { Change, ObjectStore } from "./store.ts";
import { toShown } from "./write/events-conversion.ts";

export interface WatchRequest {
  readonly kind: ResourceKind;
  readonly prefix: string;
  readonly selector: Selector | undefined;
  /** Undefined or 0: the objects of now come first, as additions. */
  readonly revision: number | undefined;
  /** True where the objects of now come first and a bookmark says that they are complete. */
  readonly sendsInitialEvents: boolean;
  readonly allowsBookmarks: boolean;
  readonly timeoutMs: number;
  /** The form of an object within an event. */
  readonly toForm: (object: KubernetesObject) => Fields;
}

/** Before its end a watch sends the revision that it has come to, so that the next one need not list. */
const lastBookmarkMs = 2_000;

export class WatchStream {
  readonly kind: ResourceKind;
  readonly #request: WatchRequest;
  readonly #response: ServerResponse;
  readonly #store: ObjectStore;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => undefined;
  #isStalled = false;
  #bookmarked: number;

  constructor(request: WatchRequest, response: ServerResponse, store: ObjectStore, bookmarkMs: number) {
    this.kind = request.kind;
    this.#request = request;
    this.#response = response;
    this.#store = store;
    this.#bookmarked = store.revision;
    const { timeoutMs, allowsBookmarks } = request;
    this.#timers.push(setTimeout(() => this.end(), timeoutMs));
    if (allowsBookmarks) {
      this.#timers.push(setInterval(() => this.#sendBookmark(), bookmarkMs));
      this.#timers.push(setTimeout(() => this.#sendBookmark(), Math.max(0, timeoutMs - lastBookmarkMs)));
    }
    response.on("close", () => this.#release());
  }

  /** Sends what there is, then what comes. A revision that was compacted is an ERROR event under HTTP 200. */
  start(): void {
    this.#response.writeHead(200, {
      "content-type": "application/json",
      "cache-control": "no-cache, private",
    });
    this.#response.flushHeaders();
    try {
      this.#sendPast();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      this.fail(error);
      return;
    }
    this.#unsubscribe = this.#store.subscribe((change) => this.#follow(change));
  }

  /** From now on nothing is sent, and the connection stays open. */
  stall(): void {
    this.#isStalled = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Sends an ERROR event and ends. */
  fail(error: StatusError): void {
    this.#send("ERROR", error.toStatus());
    this.end();
  }

  expire(): void {
    this.fail(expired("The resourceVersion for the provided watch is too old."));
  }

  end(): void {
    this.#release();
    if (!this.#isStalled) this.#response.end();
  }

  #release(): void {
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #sendPast(): void {
    const { kind, prefix, selector, revision = 0, sendsInitialEvents } = this.#request;
    if (revision > 0 && !sendsInitialEvents) {
      for (const change of this.#store.changesSince(revision)) this.#follow(change);
      return;
    }
    for (const [, object] of this.#store.list(kind.collection, prefix)) {
      const shown = this.#show(object);
      if (selector === undefined || selector(shown)) this.#send("ADDED", this.#request.toForm(shown));
    }
    if (sendsInitialEvents) this.#sendBookmark({ "k8s.io/initial-events-end": "true" });
  }

  /** An object that a selector lets in or out by a change is an addition or a deletion to this watch. */
  #follow({ type, collection, key, object, before }: Change): void {
    const { kind, prefix, selector, toForm } = this.#request;
    if (collection !== kind.collection || !key.startsWith(prefix)) return;
    const now = this.#show(object);
    const matches = (each: KubernetesObject) => selector === undefined || selector(each);
    const wasIn = before !== undefined && matches(this.#show(before));
    const isIn = type !== "DELETED" && matches(now);
    if (isIn) this.#send(wasIn ? "MODIFIED" : "ADDED", toForm(now));
    else if (wasIn) this.#send("DELETED", toForm(now));
  }

  #show(object: KubernetesObject): KubernetesObject {
    return toShown(object, this.kind, groupVersion(this.kind));
  }

  #sendBookmark(annotations?: Record<string, string>): void {
    const { revision } = this.#store;
    if (annotations === undefined && revision === this.#bookmarked) return;
    this.#bookmarked = revision;
    const metadata = {
      resourceVersion: String(revision),
      ...(annotations === undefined ? {} : { annotations }),
    };
    this.#send("BOOKMARK", { kind: this.kind.kind, apiVersion: groupVersion(this.kind), metadata });
  }

  #send(type: string, object: Fields): void {
    if (!this.#isStalled && !this.#response.writableEnded)
      this.#response.write(`${JSON.stringify({ type, object })}\n`);
  }
}
