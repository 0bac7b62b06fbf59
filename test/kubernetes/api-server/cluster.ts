/** The objects of a cluster, as tests reach them without HTTP. */
import { KindRegistry } from "./kind/kind-registry.ts";
import type { ResourceKind } from "./kind/kinds.ts";
import { runControllers } from "./namespaces.ts";
import { isFields, type KubernetesObject } from "./objects.ts";
import { noSuchPath, StatusError } from "./status.ts";
import { ObjectStore } from "./store.ts";
import { ObjectWriter, type Place, type WriteOptions } from "./write/object-writer.ts";

/** What names an object: `metadata.namespace` is left out for kinds of the whole cluster. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const firstNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

export class Cluster {
  readonly store = new ObjectStore();
  readonly kinds = new KindRegistry();
  readonly writer: ObjectWriter;
  readonly #stopControllers: () => void;

  constructor(now: () => Date) {
    this.writer = new ObjectWriter(this.store, now);
    this.#stopControllers = runControllers(this.store, this.kinds, this.writer);
    for (const name of firstNamespaces)
      this.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  close(): void {
    this.#stopControllers();
  }

  /** Creates an object; unlike over HTTP its status is kept. Throws a `StatusError`. */
  create(object: KubernetesObject, manager = "test"): KubernetesObject {
    const { kind, namespace } = this.#placeOf(object);
    return this.writer.create(kind, namespace, object, {
      manager,
      keepsStatus: true,
      fieldValidation: "Strict",
    });
  }

  /** Applies an object by server-side apply with force, and then its status where it brings one. */
  apply(object: KubernetesObject, manager = "test"): KubernetesObject {
    const place = this.#placeOf(object);
    const options: WriteOptions = { manager, force: true };
    const applied = this.writer.apply(place, object, options);
    if (!place.kind.hasStatus || !isFields(object.status)) return applied;
    return this.writer.apply(place, object, { ...options, subresource: "status" });
  }

  /** The object, or undefined. */
  get(reference: ObjectReference): KubernetesObject | undefined {
    try {
      return this.writer.get(this.#placeOf(reference));
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  /** All objects of a kind, or those of a namespace, in order of namespace and name. */
  list(apiVersion: string, kindName: string, namespace = ""): KubernetesObject[] {
    const kind = this.#kindOf(apiVersion, kindName);
    const prefix = namespace === "" ? "" : `${namespace}/`;
    return this.store.list(kind.collection, prefix).map(([, { metadata }]) => {
      return this.writer.get({ kind, namespace: metadata.namespace ?? "", name: metadata.name });
    });
  }

  /** Deletes an object as a client would: with finalizers it is only marked. */
  delete(reference: ObjectReference): void {
    this.writer.delete(this.#placeOf(reference), {}, false);
  }

  #placeOf({ apiVersion, kind: kindName, metadata }: ObjectReference): Place {
    const kind = this.#kindOf(apiVersion, kindName);
    return { kind, namespace: kind.namespaced ? (metadata.namespace ?? "default") : "", name: metadata.name };
  }

  #kindOf(apiVersion: string, name: string): ResourceKind {
    const kind = this.kinds.findByName(apiVersion, name);
    if (kind === undefined) throw noSuchPath();
    return kind;
  }
}
