/** Hands the documents of labelled ConfigMaps to the synchronisation, as if they were objects. */

import type { KubernetesObject } from "../cluster/kubernetes-object.ts";
import type { ObjectWatcher } from "../cluster/object-watch.ts";
import { type ConfigMapKind, readDocuments } from "./config-map-documents.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { ClusterObject, ObjectSync } from "./object-sync.ts";

export interface ConfigMapSyncOptions {
  kind: ConfigMapKind;
  sync: Pick<ObjectSync, "changed" | "deleted" | "listed">;
  events: Pick<EventRecorder, "warn">;
}

/** The watchers of one kind: one for each namespace, or one for all of them. */
export class ConfigMapSync {
  readonly #options: ConfigMapSyncOptions;
  /** The documents of each ConfigMap, by the watcher that knows it and its name. */
  readonly #known: Map<string, ClusterObject[]>[] = [];
  /** Watchers that had a complete list. */
  readonly #listed = new Set<number>();

  constructor(options: ConfigMapSyncOptions) {
    this.#options = options;
  }

  /** A watcher of one more collection of ConfigMaps. */
  makeWatcher(): ObjectWatcher {
    const at = this.#known.length;
    this.#known.push(new Map());
    return {
      listed: (maps, isRequested) => this.#take(at, maps, isRequested),
      changed: (map) => this.#change(at, map),
      deleted: (map) => this.#replace(at, map, []),
    };
  }

  /** A complete list removes what no ConfigMap says, unless a ConfigMap cannot be read: its last version stays. */
  #take(at: number, maps: readonly KubernetesObject[], again: boolean): void {
    const names = new Set(maps.map(nameOf));
    for (const name of this.#known[at]!.keys()) {
      if (!names.has(name)) this.#drop(at, name);
    }
    let isWhole = true;
    for (const map of maps) isWhole = this.#change(at, map) && isWhole;
    this.#listed.add(at);
    if (!isWhole || this.#listed.size < this.#known.length) return;
    const objects = this.#known.flatMap((known) => [...known.values()].flat());
    this.#options.sync.listed(this.#options.kind, objects, { again });
  }

  /** Returns false where a key of the ConfigMap cannot be read. */
  #change(at: number, map: KubernetesObject): boolean {
    const { kind, events } = this.#options;
    const { objects, problems } = readDocuments(kind, map);
    const { name, namespace, uid } = map.metadata;
    for (const problem of problems) {
      const subject = { apiVersion: "v1", kind: "ConfigMap", namespace, name, uid };
      events.warn(subject, "InvalidDocument", `${problem}; its last good version stays`);
    }
    if (problems.length === 0) this.#replace(at, map, objects);
    else this.#keep(at, map, objects);
    return problems.length === 0;
  }

  #replace(at: number, map: KubernetesObject, objects: ClusterObject[]): void {
    const names = new Set(objects.map(({ metadata }) => metadata.name));
    const gone = this.#known[at]!.get(nameOf(map))?.filter(({ metadata }) => !names.has(metadata.name)) ?? [];
    this.#remove(gone);
    if (objects.length === 0) this.#known[at]!.delete(nameOf(map));
    else this.#known[at]!.set(nameOf(map), objects);
    for (const object of objects) this.#options.sync.changed(object);
  }

  /** Takes the readable documents and keeps the others as they were. */
  #keep(at: number, map: KubernetesObject, objects: ClusterObject[]): void {
    const names = new Set(objects.map(({ metadata }) => metadata.name));
    const before = this.#known[at]!.get(nameOf(map)) ?? [];
    const kept = before.filter(({ metadata }) => !names.has(metadata.name));
    this.#known[at]!.set(nameOf(map), [...objects, ...kept]);
    for (const object of objects) this.#options.sync.changed(object);
  }

  #drop(at: number, name: string): void {
    this.#remove(this.#known[at]!.get(name) ?? []);
    this.#known[at]!.delete(name);
  }

  #remove(objects: readonly ClusterObject[]): void {
    for (const { kind, metadata } of objects) {
      const { namespace, name } = metadata;
      this.#options.sync.deleted({ kind, namespace, name });
    }
  }
}

function nameOf({ metadata: { namespace = "", name } }: KubernetesObject): string {
  return `${namespace}/${name}`;
}
