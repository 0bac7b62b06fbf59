/**
 * Brings the hub to what the objects of the cluster say. It is told of changes, deletions and complete lists, in any
 * order and as often as they come; the newest state of each object is sent until the hub has taken or refused it.
 */

import type { EventSubject } from "./event-recorder.ts";
import type { AppliedObject, DesiredObject, HubClient, ObjectKey } from "./hub-client.ts";
import { HubError } from "./hub-client.ts";
import { gatherMs, removalBytes, retryMsMax, retryMsMin } from "./limits.ts";
import { measureObject } from "./object-size.ts";
import { Sweep } from "./sweep.ts";
import { type Named, TaskQueue } from "./task-queue.ts";

/** An object of the cluster. */
export interface ClusterObject extends DesiredObject {
  status?: unknown;
  /** What Events about it are about: itself, or the ConfigMap that holds it. */
  subject?: EventSubject;
}

export interface ObjectSyncOptions {
  hub: Pick<HubClient, "apply" | "remove" | "sweep">;
  /** Called when the hub has taken or refused an object, or could not be reached: then `applied` is undefined. */
  onOutcome: (object: ClusterObject, applied: AppliedObject | undefined, problem?: string) => void;
  /** From 0 to 1. */
  random: () => number;
  log: (message: string) => void;
}

/** What has to be done for one object. */
type Task = ApplyTask | RemoveTask;

interface ApplyTask {
  kind: "apply";
  object: ClusterObject;
  /** What it takes of a request. */
  bytes: number;
}

interface RemoveTask {
  kind: "remove";
  key: ObjectKey;
  bytes: number;
}

/** One loop sends requests one after the other, so that of two states of an object the newer is taken last. */
export class ObjectSync {
  readonly #options: ObjectSyncOptions;
  readonly #tasks = new TaskQueue<Task>();
  /** Kinds to be swept. */
  readonly #sweeps = new Map<string, Sweep>();
  /** What was last sent of each object: its uid and generation. */
  readonly #sent = new Map<string, string>();
  #loop: Promise<void> | undefined;
  #retryMs = 0;
  #isClosed = false;
  /** True while nothing is due: a change ends the pause. */
  #isIdle = false;
  #wake: () => void = () => undefined;

  constructor(options: ObjectSyncOptions) {
    this.#options = options;
  }

  /** Objects and sweeps that wait. */
  get waiting(): number {
    return this.#tasks.size + this.#sweeps.size;
  }

  /** Is to be called when an object was created or changed. Changes of its status alone are left out. */
  changed(object: ClusterObject): void {
    const key = keyOf(object);
    const name = nameOf(key);
    this.#sweeps.get(object.kind)?.keep(key);
    const task = this.#tasks.get(name);
    const known = task === undefined ? this.#sent.get(name) : task.kind === "apply" && versionOf(task.object);
    if (known === versionOf(object)) return;
    const size = measureObject(toSent(object));
    if ("problem" in size) {
      this.#dropApply(name);
      this.#refuse(name, object, size.problem);
      return;
    }
    this.#tasks.set(name, { kind: "apply", object, bytes: size.bytes });
    this.#start();
  }

  /** Is to be called when an object was deleted. */
  deleted(key: ObjectKey): void {
    this.#tasks.set(nameOf(key), { kind: "remove", key, bytes: removalBytes });
    this.#start();
  }

  /** Is to be called with all objects of a kind. What the hub has of others is removed. */
  listed(kind: string, objects: readonly ClusterObject[], { again = false }: { again?: boolean } = {}): void {
    const keys = objects.map(keyOf);
    const kept = new Set(keys.map(nameOf));
    // Deletions that nobody told of.
    for (const name of [...this.#sent.keys()]) {
      if (name.startsWith(`${kind}/`) && !kept.has(name)) this.#sent.delete(name);
    }
    for (const object of objects) {
      if (again) {
        const name = nameOf(keyOf(object));
        this.#sent.delete(name);
        this.#dropApply(name);
      }
      this.changed(object);
    }
    this.#sweeps.set(kind, new Sweep(keys));
    this.#start();
  }

  /** Ends the loop; what waits is not sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.#loop;
  }

  #start(): void {
    if (this.#isClosed) return;
    if (this.#isIdle) this.#wake();
    this.#loop ??= this.#run().finally(() => {
      this.#loop = undefined;
      if (this.waiting > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    await this.#pause(gatherMs);
    while (this.waiting > 0 && !this.#isClosed) {
      try {
        await this.#sendNext();
        this.#retryMs = 0;
      } catch (error) {
        if (!(error instanceof HubError)) throw error;
        await this.#pause(this.#nextRetryMs(error));
      }
    }
  }

  /** Sends what is due: changes and deletions before sweeps. Where nothing is, waits until something is. */
  async #sendNext(): Promise<void> {
    const tasks = this.#tasks.nextBatch(performance.now());
    if (tasks.length > 0) return this.#sendTasks(tasks);
    if (this.#sweeps.size > 0) return this.#sendSweep();
    this.#isIdle = true;
    await this.#pause(this.#tasks.dueInMs(performance.now()));
    this.#isIdle = false;
    await this.#pause(gatherMs);
  }

  async #sendTasks(tasks: readonly Named<Task>[]): Promise<void> {
    try {
      await this.#sendHalving(tasks.filter(isRemoval), (part) => this.#remove(part));
      await this.#sendHalving(tasks.filter(isApply), (part) => this.#apply(part));
      this.#tasks.noteAnswered();
    } catch (error) {
      if (error instanceof HubError) this.#reportFailed(tasks, error);
      throw error;
    }
  }

  /** Halves what the hub refuses as a whole, until a task that is refused stands alone. */
  async #sendHalving<T extends Named<Task>>(
    tasks: readonly T[],
    send: (tasks: readonly T[]) => Promise<void>,
  ): Promise<void> {
    const [first] = tasks;
    if (first === undefined || this.#isClosed) return;
    try {
      await send(tasks);
    } catch (error) {
      if (!(error instanceof HubError) || !error.isOfBody) throw error;
      if (tasks.length === 1) {
        this.#refuseTask(first, error.message);
        return;
      }
      const middle = Math.ceil(tasks.length / 2);
      await this.#sendHalving(tasks.slice(0, middle), send);
      await this.#sendHalving(tasks.slice(middle), send);
    }
  }

  async #remove(tasks: readonly Named<RemoveTask>[]): Promise<void> {
    await this.#options.hub.remove(tasks.map(([, { key }]) => key));
    for (const [name, task] of tasks) {
      this.#sent.delete(name);
      this.#tasks.finish(name, task);
    }
  }

  /** Those that the hub cannot take now are put off. */
  async #apply(tasks: readonly Named<ApplyTask>[]): Promise<void> {
    const results = await this.#options.hub.apply(tasks.map(([, { object }]) => toSent(object)));
    const byName = new Map(results.map((result) => [nameOf(result), result]));
    const nowMs = performance.now();
    // All get the same random share of the delay, so that objects of one request are sent in one request again.
    const share = 0.5 + this.#options.random() / 2;
    const hadPutOff = this.#tasks.hasPutOff;
    for (const [name, task] of tasks) {
      const result = byName.get(name);
      this.#options.onOutcome(task.object, result);
      if (result?.isTemporary === false) {
        this.#sent.set(name, versionOf(task.object));
        this.#tasks.finish(name, task);
        continue;
      }
      this.#tasks.putOff(name, task, nowMs, share);
    }
    if (!hadPutOff && this.#tasks.hasPutOff) this.#options.log("the hub could not take all objects now");
  }

  #dropApply(name: string): void {
    if (this.#tasks.get(name)?.kind === "apply") this.#tasks.delete(name);
  }

  /** Reports the tasks that failed. Those that the hub will never take are dropped until the next change of their object. */
  #reportFailed(tasks: readonly Named<Task>[], error: HubError): void {
    // A token that is not taken may be replaced: then all is tried again.
    const isGivenUp = !error.isTemporary && error.status !== 401 && error.status !== 403;
    this.#tasks.noteFailed(tasks);
    for (const [name, task] of tasks) {
      if (this.#tasks.get(name) !== task) continue;
      if (isGivenUp) this.#tasks.delete(name);
      // A hub that is busy (503) takes them soon: their statuses stay as they are.
      if (task.kind === "apply" && error.status !== 503)
        this.#options.onOutcome(task.object, undefined, error.message);
    }
  }

  #refuseTask([name, task]: Named<Task>, problem: string): void {
    if (task.kind === "apply") this.#refuse(name, task.object, problem);
    else this.#options.log(`the deletion of ${name} is given up: ${problem}`);
    this.#tasks.finish(name, task);
  }

  /** An object that no request can hold is wrong, as one that the hub refuses. Its last good version stays. */
  #refuse(name: string, object: ClusterObject, message: string): void {
    this.#sent.set(name, versionOf(object));
    const { kind, metadata } = object;
    const { namespace = "", name: own, uid } = metadata;
    const key = { kind, namespace, name: own, uid, id: "" };
    this.#options.onOutcome(object, { ...key, reason: "InvalidSpec", isTemporary: false, message });
  }

  /** Sends the next part of the sweep that has waited longest. */
  async #sendSweep(): Promise<void> {
    const [kind, sweep] = this.#sweeps.entries().next().value!;
    const part = sweep.nextPart();
    try {
      const removed = await this.#options.hub.sweep(kind, part.kept, part.range);
      if (removed > 0) this.#options.log(`removed ${removed} of kind ${kind} that the cluster does not have`);
      // Where a newer list has begun another sweep, that one stays.
      if (sweep.finish(part) && this.#sweeps.get(kind) === sweep) this.#sweeps.delete(kind);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      if (this.#sweeps.get(kind) === sweep) this.#putOff(kind, sweep, error);
      if (!error.isOfBody) throw error;
    }
  }

  /** Lets other sweeps go first. One that the hub will never take ends: the next complete list begins another. */
  #putOff(kind: string, sweep: Sweep, { isOfBody, message }: HubError): void {
    this.#sweeps.delete(kind);
    if (isOfBody) this.#options.log(`what is gone of kind ${kind} is not removed now: ${message}`);
    else this.#sweeps.set(kind, sweep);
  }

  #nextRetryMs({ message, retryAfterMs = 0 }: HubError): number {
    this.#retryMs = Math.min(retryMsMax, Math.max(retryMsMin, this.#retryMs * 2));
    if (this.#retryMs === retryMsMin) this.#options.log(message);
    // Full jitter: exporters that lost the hub at the same moment do not come back at the same moment.
    return Math.max(retryAfterMs, this.#retryMs * (0.5 + this.#options.random() / 2));
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) return resolve();
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function isApply(task: Named<Task>): task is Named<ApplyTask> {
  return task[1].kind === "apply";
}

function isRemoval(task: Named<Task>): task is Named<RemoveTask> {
  return task[1].kind === "remove";
}

function toSent({ kind, metadata, spec }: ClusterObject): DesiredObject {
  const { name, namespace, uid, generation } = metadata;
  return {
    kind,
    metadata: {
      ...{ name, uid },
      ...(namespace === undefined ? {} : { namespace }),
      ...(generation === undefined ? {} : { generation }),
    },
    spec: spec ?? {},
  };
}

function keyOf({ kind, metadata: { namespace, name } }: ClusterObject): ObjectKey {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

function nameOf({ kind, namespace = "", name }: ObjectKey): string {
  return `${kind}/${namespace}/${name}`;
}

/** What the hub was sent of an object: another uid means that it was deleted and created again. */
function versionOf({ metadata: { uid, generation = 0 } }: ClusterObject): string {
  return `${uid}/${generation}`;
}
