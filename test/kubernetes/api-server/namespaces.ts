/** The controllers without which no test gets far: namespaces end with what is in them, definitions with their objects. */
import { definitionCollection, type KindRegistry } from "./kind/kind-registry.ts";
import type { ResourceKind } from "./kind/kinds.ts";
import type { Change, ObjectStore } from "./store.ts";
import { keyOf, type ObjectWriter } from "./write/object-writer.ts";

const namespaceCollection = "namespaces.";

/** Follows the store until the function that it returns is called. */
export function runControllers(store: ObjectStore, kinds: KindRegistry, writer: ObjectWriter): () => void {
  const waiting = new Set<string>();
  const end = (namespace: string) => {
    if (waiting.has(namespace)) return;
    waiting.add(namespace);
    setImmediate(() => {
      waiting.delete(namespace);
      endNamespace(namespace, store, kinds, writer);
    });
  };
  return store.subscribe((change) => {
    const { collection, object, type } = change;
    if (collection === definitionCollection) followDefinition(change, store, kinds, writer);
    const namespace = collection === namespaceCollection ? object.metadata.name : object.metadata.namespace;
    if (namespace === undefined || (type !== "DELETED" && collection !== namespaceCollection)) return;
    const found = store.get(namespaceCollection, namespace);
    if (found?.metadata.deletionTimestamp !== undefined) end(namespace);
  });
}

function followDefinition(
  { type, object }: Change,
  store: ObjectStore,
  kinds: KindRegistry,
  writer: ObjectWriter,
): void {
  if (type !== "DELETED") {
    kinds.define(object);
    return;
  }
  const gone = kinds
    .listCollections()
    .filter((kind) => kind.isCustom && `${kind.plural}.${kind.group}` === object.metadata.name);
  for (const kind of gone) deleteAll(kind, "", store, writer);
  kinds.undefine(object.metadata.name);
}

/** Deletes the objects of a kind whose keys begin with `prefix`, and returns how many are left. */
function deleteAll(kind: ResourceKind, prefix: string, store: ObjectStore, writer: ObjectWriter): number {
  for (const [, { metadata }] of store.list(kind.collection, prefix)) {
    if (metadata.deletionTimestamp !== undefined) continue;
    writer.delete({ kind, namespace: metadata.namespace ?? "", name: metadata.name }, {}, false);
  }
  return store.list(kind.collection, prefix).length;
}

function endNamespace(name: string, store: ObjectStore, kinds: KindRegistry, writer: ObjectWriter): void {
  const namespace = store.get(namespaceCollection, name);
  if (namespace?.metadata.deletionTimestamp === undefined) return;
  const namespaced = kinds.listCollections().filter((kind) => kind.namespaced);
  const left = namespaced.map((kind) => deleteAll(kind, `${name}/`, store, writer));
  const isHeld = (namespace.metadata.finalizers ?? []).length > 0;
  if (left.some((count) => count > 0) || isHeld) return;
  const kind = kinds.find("", "v1", "namespaces")!;
  store.remove(namespaceCollection, keyOf({ kind, namespace: "", name }), namespace);
}
