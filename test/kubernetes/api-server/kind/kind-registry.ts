/** The kinds that are served now: those of the start, and those of stored definitions. */

import type { KubernetesObject } from "../objects.ts";
import { kindsOfDefinition } from "./definitions.ts";
import { groupVersion, listBuiltInKinds, type ResourceKind } from "./kinds.ts";

export const definitionCollection = "customresourcedefinitions.apiextensions.k8s.io";

export class KindRegistry {
  readonly #builtIn = listBuiltInKinds();
  readonly #custom = new Map<string, ResourceKind[]>();

  list(): ResourceKind[] {
    return [...this.#builtIn, ...[...this.#custom.values()].flat()];
  }

  find(group: string, version: string, plural: string): ResourceKind | undefined {
    return this.list().find(
      (kind) => kind.group === group && kind.version === version && kind.plural === plural,
    );
  }

  findByName(apiVersion: string, name: string): ResourceKind | undefined {
    return this.list().find((kind) => kind.kind === name && groupVersion(kind) === apiVersion);
  }

  /** One kind for each collection, so that what has several versions is visited once. */
  listCollections(): ResourceKind[] {
    return [...new Map(this.list().map((kind) => [kind.collection, kind])).values()];
  }

  define(definition: KubernetesObject): void {
    this.#custom.set(definition.metadata.name, kindsOfDefinition(definition));
  }

  undefine(name: string): void {
    this.#custom.delete(name);
  }
}
