/** Warning Events on objects of the cluster: what `kubectl describe` shows below an object. */

import { randomBytes } from "node:crypto";
import type { ApiClient } from "../cluster/api-client.ts";
import { ApiError } from "../cluster/api-error.ts";
import { eventMessageLengthMax, eventRepeatMs, eventsRememberedMax } from "./limits.ts";

/** The object that an Event is about. */
export interface EventSubject {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
  uid: string;
}

export interface EventRecorderOptions {
  client: Pick<ApiClient, "send">;
  nowMs: () => number;
  log: (message: string) => void;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** When each warning was last sent, by object, reason and message, the oldest first. */
  readonly #sentAtMs = new Map<string, number>();
  #problem = "";

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Records a warning; the same one at most once an hour. An Event that cannot be written is only logged. */
  warn(subject: EventSubject, reason: string, message: string): void {
    const key = JSON.stringify([subject.uid, reason, message]);
    const elapsedMs = performance.now();
    const sentAtMs = this.#sentAtMs.get(key);
    if (sentAtMs !== undefined && elapsedMs - sentAtMs < eventRepeatMs) return;
    this.#sentAtMs.delete(key);
    this.#sentAtMs.set(key, elapsedMs);
    const [oldest] = this.#sentAtMs.keys();
    if (this.#sentAtMs.size > eventsRememberedMax) this.#sentAtMs.delete(oldest!);
    void this.#send(
      subject,
      reason,
      message,
      new Date(this.#options.nowMs()).toISOString().replace(/\.\d+Z$/, "Z"),
    );
  }

  async #send(subject: EventSubject, reason: string, message: string, time: string): Promise<void> {
    const { client, log } = this.#options;
    // Events of objects without a namespace stand in the default namespace.
    const namespace = subject.namespace ?? "default";
    const body = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${subject.name.slice(0, 200)}.${randomBytes(8).toString("hex")}`, namespace },
      involvedObject: subject,
      reason,
      message: message.slice(0, eventMessageLengthMax),
      type: "Warning",
      source: { component: "svc-exporter" },
      reportingComponent: "svc-exporter",
      reportingInstance: "svc-exporter",
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await client.send(`/api/v1/namespaces/${encodeURIComponent(namespace)}/events`, {
        method: "POST",
        body,
      });
      this.#problem = "";
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.message !== this.#problem) log(`no Event could be written: ${error.message}`);
      this.#problem = error.message;
    }
  }
}
