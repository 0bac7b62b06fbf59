/** Sends the objects of a cluster to the hub: each change, and everything once an hour. */

import { join } from "node:path";
import type { ApiClient } from "../cluster/api-client.ts";
import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import { ObjectWatch, type ObjectWatcher } from "../cluster/object-watch.ts";
import type { RowBatch } from "../gateway/row-batch.ts";
import { EventMarker, type SentEvent } from "./event-marker.ts";
import { inventoryKinds } from "./inventory-kinds.ts";
import { KindInventory } from "./kind-inventory.ts";
import { objectLengthMax, stateMs as stateMsDefault } from "./limits.ts";
import { type FindService, type ResourceRow, ResourceRows, timeOfEvent } from "./resource-row.ts";
import { RowSender } from "./row-sender.ts";

export interface InventoryOptions {
  client: Pick<ApiClient, "open" | "send">;
  /** Folder in which it is remembered which Events were sent. */
  dir: string;
  send: (batch: RowBatch) => Promise<void>;
  findService: FindService;
  /** Is told of pods, before the inventory is. */
  podWatcher: ObjectWatcher;
  /** Unix milliseconds. */
  nowMs: () => number;
  /** From 0 to 1. */
  random: () => number;
  log: (message: string) => void;
  /** Time between full states, in milliseconds; an hour where it is absent. */
  stateMs?: number;
}

interface Followed {
  watch: ObjectWatch;
  inventory: KindInventory;
}

export class Inventory {
  readonly #options: InventoryOptions;
  readonly #followed: readonly Followed[];
  readonly #sender: RowSender;
  readonly #marker: EventMarker;
  /** The Events that wait. */
  readonly #events = new Map<ResourceRow, SentEvent>();
  #timer: NodeJS.Timeout | undefined;
  #tooLong = 0;
  #sent = 0;

  constructor(options: InventoryOptions) {
    this.#options = options;
    const { findService, send, random, log } = options;
    this.#marker = new EventMarker(join(options.dir, "events-sent.json"), options.nowMs);
    this.#sender = new RowSender({ send, random, log, onSent: (rows) => this.#note(rows) });
    const rows = new ResourceRows(findService);
    this.#followed = inventoryKinds.map((kind) => this.#follow(kind, rows));
  }

  run(): void {
    this.#sender.run();
    for (const { watch } of this.#followed) watch.run();
    this.#timer = setInterval(() => this.sendState(), this.#options.stateMs ?? stateMsDefault);
    this.#timer.unref();
  }

  /** Lists all objects and sends them, changed or not. */
  sendState(): void {
    for (const { watch, inventory } of this.#followed) if (inventory.requestState()) watch.relist();
  }

  /** Sends what waits, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#followed.map(({ watch }) => watch.close()));
    await this.#sender.close();
  }

  /** Each kind with the number of its objects, and why it is not followed at the moment. */
  describe(): { plural: string; objects: number; problem: string | undefined }[] {
    return this.#followed.map(({ watch, inventory }) => ({
      plural: watch.collection.plural,
      objects: inventory.size,
      problem: watch.problem,
    }));
  }

  /** Rows since the start. */
  get counts(): { sent: number; dropped: number } {
    return { sent: this.#sent, dropped: this.#sender.dropped + this.#tooLong };
  }

  #follow(kind: (typeof inventoryKinds)[number], rows: ResourceRows): Followed {
    const { client, random, log, nowMs, podWatcher } = this.#options;
    const inventory = new KindInventory({
      ...{ kind, rows, nowMs },
      emit: (row, object) => this.#add(row, kind.kind === "Event" ? object : undefined),
      wasSent: (object) =>
        kind.kind === "Event" && this.#marker.wasSent([timeOfEvent(object, nowMs()), keyOf(object)]),
    });
    const watcher = kind.kind === "Pod" ? inTurn(podWatcher, inventory) : inventory;
    const { apiVersion, plural } = kind;
    const collection = { apiVersion, kind: kind.kind, plural };
    return { inventory, watch: new ObjectWatch({ client, collection, watcher, random, log, isPaged: true }) };
  }

  #add(row: ResourceRow, event: KubernetesObject | undefined): void {
    if (row.body.length > objectLengthMax) {
      this.#tooLong++;
      return;
    }
    if (this.#sender.add(row) && event !== undefined) this.#events.set(row, [row.timestamp, keyOf(event)]);
  }

  #note(rows: readonly ResourceRow[]): void {
    this.#sent += rows.length;
    this.#marker.note(rows.flatMap((row) => [this.#events.get(row)].filter((each) => each !== undefined)));
    for (const row of rows) this.#events.delete(row);
    try {
      this.#marker.save();
    } catch (error) {
      this.#options.log(`Events that were sent cannot be remembered: ${(error as Error).message}`);
    }
  }
}

/** Changes with each time that an Event was seen. */
function keyOf({ metadata: { uid, resourceVersion = "" } }: KubernetesObject): string {
  return `${uid} ${resourceVersion}`;
}

function inTurn(first: ObjectWatcher, second: ObjectWatcher): ObjectWatcher {
  return {
    listed: (objects, isRequested) => {
      first.listed(objects, isRequested);
      second.listed(objects, isRequested);
    },
    changed: (object) => {
      first.changed(object);
      second.changed(object);
    },
    deleted: (object) => {
      second.deleted(object);
      first.deleted(object);
    },
  };
}
