/** Writes of objects: creation, replacement, patches, server-side apply, deletion. */
import { randomUUID } from "node:crypto";
import { groupVersion, type ResourceKind } from "../kind/kinds.ts";
import { prune } from "../kind/schema.ts";
import { copy, isSame, type KubernetesObject, type ManagedFieldsEntry, toTimestamp } from "../objects.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  notFound,
  qualify,
  StatusError,
  staleObject,
} from "../status.ts";
import type { ObjectStore } from "../store.ts";
import {
  checkKind,
  checkObject,
  complete,
  dropUnknownFields,
  type FieldValidation,
  subjectOf,
} from "./admission.ts";
import { toShown, toStored } from "./events-conversion.ts";
import { applyConfiguration, trackUpdate, type Writer } from "./field-ownership.ts";

/** Where an object is. */
export interface Place {
  readonly kind: ResourceKind;
  /** "" for kinds of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
}

export interface WriteOptions {
  readonly manager: string;
  readonly subresource?: string | undefined;
  readonly dryRun?: boolean;
  readonly fieldValidation?: FieldValidation;
  /** True where an apply takes over fields of other managers. */
  readonly force?: boolean;
  /** True where a creation keeps the status that the object brings, as tests want it. */
  readonly keepsStatus?: boolean;
  /** Filled with the texts of `Warning` headers. */
  readonly warnings?: string[];
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** The key of an object within its collection. */
export function keyOf({ kind, namespace, name }: Place): string {
  return kind.namespaced ? `${namespace}/${name}` : name;
}

export class ObjectWriter {
  readonly #store: ObjectStore;
  readonly #now: () => Date;

  constructor(store: ObjectStore, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  /** The stored object in the version of its kind; throws 404 where there is none. */
  get(place: Place): KubernetesObject {
    const { kind, name } = place;
    const object = this.#store.get(kind.collection, keyOf(place));
    if (object === undefined) throw notFound(subjectOf(kind, name));
    return toShown(object, kind, groupVersion(kind));
  }

  create(kind: ResourceKind, namespace: string, sent: unknown, options: WriteOptions): KubernetesObject {
    const given = copy(sent);
    checkKind(given, kind);
    const place = { kind, namespace, name: nameOf(given) };
    checkPlace(given, place);
    if (given.metadata.resourceVersion !== undefined && given.metadata.resourceVersion !== "") {
      throw new StatusError(500, "", "resourceVersion should not be set on objects to be created");
    }
    this.#checkNamespace(place);
    dropUnknownFields(given, kind, options.fieldValidation ?? "Warn", options.warnings ?? []);
    if (kind.hasStatus && options.keepsStatus !== true) delete given.status;
    const isTaken = this.#store.get(kind.collection, keyOf(place)) !== undefined;
    if (isTaken) throw alreadyExists(subjectOf(kind, place.name));
    return this.#insert(place, given, options, "Update");
  }

  replace(place: Place, sent: unknown, options: WriteOptions): KubernetesObject {
    const before = this.get(place);
    const next = copy(sent);
    checkKind(next, place.kind);
    checkPlace(next, place);
    const { resourceVersion = "" } = next.metadata;
    if (resourceVersion === "" && !place.kind.allowsUnconditionalUpdate) {
      const message = "Invalid value: 0x0: must be specified for an update";
      throw invalid(subjectOf(place.kind, place.name), [
        { path: "metadata.resourceVersion", reason: "FieldValueInvalid", message },
      ]);
    }
    return this.#update(place, before, next, options);
  }

  /** Stores what `change` makes of the object. */
  patch(
    place: Place,
    change: (object: KubernetesObject) => unknown,
    options: WriteOptions,
  ): KubernetesObject {
    const before = this.get(place);
    const next = change(copy(before));
    checkKind(next, place.kind);
    checkPlace(next, place);
    return this.#update(place, before, next, options);
  }

  /** Server-side apply: creates the object where there is none. */
  apply(place: Place, sent: unknown, options: WriteOptions): KubernetesObject {
    const { kind, name } = place;
    const configuration = copy(sent);
    checkKind(configuration, kind);
    checkPlace(configuration, place);
    if (configuration.metadata.managedFields !== undefined) {
      throw badRequest("metadata.managedFields must be nil");
    }
    this.#checkDeclared(configuration, place);
    const key = keyOf(place);
    const exists = this.#store.get(kind.collection, key) !== undefined;
    if (!exists && options.subresource !== undefined) throw notFound(subjectOf(kind, name));
    if (options.subresource === "status") {
      for (const field of Object.keys(configuration)) {
        if (!["apiVersion", "kind", "metadata", "status"].includes(field)) delete configuration[field];
      }
      configuration.metadata = identityOf(configuration);
    } else if (kind.hasStatus) delete configuration.status;
    if (!exists) {
      if (configuration.metadata.uid !== undefined)
        throw conflict(subjectOf(kind, name), uidMismatch(configuration, ""));
      this.#checkNamespace(place);
      return this.#insert(place, configuration, options, "Apply");
    }
    const before = this.get(place);
    this.#checkPreconditions(place, before, configuration.metadata);
    const now = toTimestamp(this.#now());
    const writer = writerOf(place, options, "Apply");
    const { schema } = kind;
    const force = options.force === true;
    const { object, managedFields } = applyConfiguration(before, configuration, writer, {
      schema,
      force,
      now,
    });
    return this.#commit(place, before, object, options, () => managedFields);
  }

  delete(place: Place, preconditions: Preconditions, dryRun: boolean): KubernetesObject {
    const before = this.get(place);
    this.#checkPreconditions(place, before, preconditions);
    const isHeld = (before.metadata.finalizers ?? []).length > 0;
    const isNamespace = place.kind.kind === "Namespace" && !place.kind.isCustom;
    if (dryRun) return before;
    const stored = toStored(before, place.kind);
    if (!isHeld && !isNamespace) return this.#store.remove(place.kind.collection, keyOf(place), stored);
    if (before.metadata.deletionTimestamp !== undefined) return before;
    const { metadata } = stored;
    const generation = metadata.generation === undefined ? {} : { generation: metadata.generation + 1 };
    const marks = { deletionTimestamp: toTimestamp(this.#now()), deletionGracePeriodSeconds: 0 };
    return this.#store.put(place.kind.collection, keyOf(place), {
      ...stored,
      metadata: { ...metadata, ...generation, ...marks },
      ...(isNamespace ? { status: { ...stored.status, phase: "Terminating" } } : {}),
    });
  }

  #insert(
    place: Place,
    given: KubernetesObject,
    options: WriteOptions,
    operation: Writer["operation"],
  ): KubernetesObject {
    const { kind, namespace, name } = place;
    const now = this.#now();
    const { generateName, labels, annotations, finalizers, ownerReferences } = given.metadata;
    const metadata = {
      name,
      ...(generateName === undefined ? {} : { generateName }),
      ...(kind.namespaced ? { namespace } : {}),
      uid: randomUUID(),
      ...(kind.hasGeneration ? { generation: 1 } : {}),
      creationTimestamp: toTimestamp(now),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    };
    const writer = writerOf(place, options, operation);
    const managedFields = trackUpdate(undefined, given, [], writer, kind.schema, toTimestamp(now));
    const object = complete({ ...given, metadata }, kind, now);
    checkObject(object, undefined, kind);
    const whole = { ...object, metadata: { ...object.metadata, managedFields } };
    if (options.dryRun === true) return whole;
    return toShown(
      this.#store.put(kind.collection, keyOf(place), toStored(whole, kind)),
      kind,
      groupVersion(kind),
    );
  }

  #update(
    place: Place,
    before: KubernetesObject,
    next: KubernetesObject,
    options: WriteOptions,
  ): KubernetesObject {
    this.#checkPreconditions(place, before, next.metadata);
    dropUnknownFields(next, place.kind, options.fieldValidation ?? "Warn", options.warnings ?? []);
    const entries = next.metadata.managedFields ?? before.metadata.managedFields;
    const writer = writerOf(place, options, "Update");
    const now = toTimestamp(this.#now());
    return this.#commit(place, before, next, options, (after) => {
      return trackUpdate(before, after, entries, writer, place.kind.schema, now);
    });
  }

  /** Checks and stores the next state of an object; what changes nothing is not written. */
  #commit(
    place: Place,
    before: KubernetesObject,
    next: KubernetesObject,
    options: WriteOptions,
    own: (after: KubernetesObject) => ManagedFieldsEntry[],
  ): KubernetesObject {
    const { kind } = place;
    const separated = separate(kind, before, next, options.subresource);
    const after = complete(carryIdentity(separated, before), kind, this.#now());
    checkObject(after, before, kind);
    const managedFields = own(after);
    if (kind.hasGeneration && isSpecChanged(kind, before, after)) {
      after.metadata.generation = (before.metadata.generation ?? 0) + 1;
    }
    const whole = { ...after, metadata: { ...after.metadata, managedFields } };
    if (isSame(withoutTimes(whole), withoutTimes(before))) return before;
    if (options.dryRun === true) return whole;
    const key = keyOf(place);
    const stored = toStored(whole, kind);
    const isReleased =
      whole.metadata.deletionTimestamp !== undefined && (whole.metadata.finalizers ?? []).length === 0;
    const isNamespace = kind.kind === "Namespace" && !kind.isCustom;
    const written =
      isReleased && !isNamespace
        ? this.#store.remove(kind.collection, key, stored)
        : this.#store.put(kind.collection, key, stored);
    return toShown(written, kind, groupVersion(kind));
  }

  #checkNamespace({ kind, namespace, name }: Place): void {
    if (!kind.namespaced) return;
    const found = this.#store.get("namespaces.", namespace);
    if (found === undefined) {
      throw notFound({ group: "", plural: "namespaces", kind: "Namespace", name: namespace });
    }
    if (found.metadata.deletionTimestamp === undefined) return;
    const message = `namespace ${namespace} is being terminated`;
    const causes = [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }];
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const text = `${qualify(kind.plural, kind.group)} "${name}" is forbidden: ${why}`;
    throw new StatusError(403, "Forbidden", text, { name, group: kind.group, kind: kind.plural, causes });
  }

  #checkPreconditions({ kind, name }: Place, before: KubernetesObject, wanted: Preconditions): void {
    const { uid, resourceVersion = "" } = wanted;
    const subject = subjectOf(kind, name);
    if (uid !== undefined && uid !== before.metadata.uid)
      throw conflict(subject, uidMismatch({ uid }, before.metadata.uid ?? ""));
    if (resourceVersion !== "" && resourceVersion !== before.metadata.resourceVersion)
      throw staleObject(subject);
  }

  #checkDeclared(configuration: KubernetesObject, { kind, namespace, name }: Place): void {
    if (kind.schema === undefined) return;
    const unknown = prune(configuration, kind.schema);
    if (unknown.length === 0) return;
    const of = `(${namespace}/${name}; ${groupVersion(kind)}, Kind=${kind.kind})`;
    const list = unknown.map((path) => `.${path}: field not declared in schema`).join(", ");
    throw new StatusError(500, "", `failed to create typed patch object ${of}: ${list}`);
  }
}

function uidMismatch(wanted: { uid?: string } | KubernetesObject, found: string): string {
  const uid = "metadata" in wanted ? (wanted as KubernetesObject).metadata.uid : wanted.uid;
  return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`;
}

function writerOf({ kind }: Place, options: WriteOptions, operation: Writer["operation"]): Writer {
  const { manager, subresource } = options;
  return { manager, operation, apiVersion: groupVersion(kind), subresource };
}

function nameOf({ metadata }: KubernetesObject): string {
  if (metadata.name !== undefined && metadata.name !== "") return metadata.name;
  if (metadata.generateName === undefined) throw badRequest("name or generateName is required");
  return `${metadata.generateName}${randomUUID().slice(0, 5)}`;
}

/** Checks that an object names the place of its request. */
function checkPlace({ metadata }: KubernetesObject, { kind, namespace, name }: Place): void {
  metadata.name ??= name;
  if (metadata.name !== name && metadata.name !== "") {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  if (!kind.namespaced) delete metadata.namespace;
  else if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

function identityOf({ metadata }: KubernetesObject): KubernetesObject["metadata"] {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** A write of the status changes nothing else, and any other write does not change the status. */
function separate(
  kind: ResourceKind,
  before: KubernetesObject,
  next: KubernetesObject,
  subresource: string | undefined,
): KubernetesObject {
  if (!kind.hasStatus) return next;
  const { status, ...rest } = subresource === "status" ? before : next;
  const kept = subresource === "status" ? next.status : before.status;
  return kept === undefined ? (rest as KubernetesObject) : ({ ...rest, status: kept } as KubernetesObject);
}

function carryIdentity(next: KubernetesObject, before: KubernetesObject): KubernetesObject {
  const { labels, annotations, finalizers, ownerReferences } = next.metadata;
  const { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...identity } = before.metadata;
  return {
    ...next,
    metadata: {
      ...identity,
      ...(isEmpty(labels) ? {} : { labels: labels! }),
      ...(isEmpty(annotations) ? {} : { annotations: annotations! }),
      ...(isEmpty(finalizers) ? {} : { finalizers: finalizers! }),
      ...(isEmpty(ownerReferences) ? {} : { ownerReferences: ownerReferences! }),
    },
  };
}

function isEmpty(value: object | null | undefined): boolean {
  return value === undefined || value === null || Object.keys(value).length === 0;
}

function isSpecChanged(kind: ResourceKind, before: KubernetesObject, after: KubernetesObject): boolean {
  const strip = ({ metadata: _metadata, status, ...rest }: KubernetesObject) => {
    return kind.hasStatus ? rest : { ...rest, status };
  };
  return !isSame(strip(before), strip(after));
}

/** An object without the times of its managers, which alone are no change. */
function withoutTimes(object: KubernetesObject): unknown {
  const managedFields = (object.metadata.managedFields ?? []).map(({ time: _time, ...entry }) => entry);
  return JSON.parse(JSON.stringify({ ...object, metadata: { ...object.metadata, managedFields } }));
}
