/** What happens to an object between its arrival and its storage: unknown fields, defaults, checks. */
import { checkDefinition, completeDefinition } from "../kind/definitions.ts";
import { groupVersion, type ResourceKind } from "../kind/kinds.ts";
import { checkRules } from "../kind/rules.ts";
import { prune, setDefaults, validate } from "../kind/schema.ts";
import { type Fields, isFields, type KubernetesObject } from "../objects.ts";
import { badRequest, type FieldProblem, invalid, StatusError, type Subject } from "../status.ts";

/** What a request says about fields that the schema does not know. */
export type FieldValidation = "Strict" | "Warn" | "Ignore";

const annotationBytesMax = 256 * 1024;
/** The limit of etcd for one object. */
const objectBytesMax = 1.5 * 1024 * 1024;

const nameMark = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelMark = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelValueMark = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

export function subjectOf(kind: ResourceKind, name: string): Subject {
  return { group: kind.group, plural: kind.plural, kind: kind.kind, name };
}

/** Checks that an object is one of `kind`; throws 400 where it is not. */
export function checkKind(object: unknown, kind: ResourceKind): asserts object is KubernetesObject {
  if (!isFields(object)) throw badRequest("the object provided is unrecognized (must be of type Object)");
  const wanted = groupVersion(kind);
  if (object.apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${String(object.apiVersion)}) does not match the expected API version (${wanted})`,
    );
  }
  if (object.kind !== kind.kind) {
    throw badRequest(
      `${String(object.kind)} in version "${kind.version}" cannot be handled as a ${kind.kind}`,
    );
  }
  object.metadata ??= {};
}

/** Removes unknown fields: refuses them where they are checked strictly, else adds a warning for each. */
export function dropUnknownFields(
  object: KubernetesObject,
  kind: ResourceKind,
  validation: FieldValidation,
  warnings: string[],
): void {
  if (kind.schema === undefined) return;
  const unknown = prune(object, kind.schema).map((path) => `unknown field "${path}"`);
  if (unknown.length === 0 || validation === "Ignore") return;
  if (validation === "Warn") warnings.push(...unknown);
  else {
    const as = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}`;
    throw badRequest(`${as}: strict decoding error: ${unknown.join(", ")}`);
  }
}

/** Sets what the server fills in for a kind. */
export function complete(object: KubernetesObject, kind: ResourceKind, now: Date): KubernetesObject {
  if (kind.schema !== undefined) setDefaults(object, kind.schema);
  if (kind.isCustom) return object;
  switch (kind.kind) {
    case "Secret":
      return completeSecret(object);
    case "Namespace":
      return completeNamespace(object);
    case "CustomResourceDefinition":
      return completeDefinition(object, now);
    case "Pod":
      return { ...object, status: { phase: "Pending", ...object.status } };
    default:
      return object;
  }
}

function completeSecret({ stringData, ...object }: KubernetesObject): KubernetesObject {
  const data = { ...(object.data as Fields | undefined) };
  for (const [key, value] of Object.entries((stringData as Fields | undefined) ?? {})) {
    data[key] = Buffer.from(String(value)).toString("base64");
  }
  return { ...object, ...(Object.keys(data).length === 0 ? {} : { data }), type: object.type ?? "Opaque" };
}

function completeNamespace(object: KubernetesObject): KubernetesObject {
  const { metadata } = object;
  const labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
  return {
    ...object,
    metadata: { ...metadata, labels },
    spec: { finalizers: ["kubernetes"], ...object.spec },
    status: { phase: "Active", ...object.status },
  };
}

/** Checks a whole object; throws 422 with every problem. `before` is undefined for a new object. */
export function checkObject(
  object: KubernetesObject,
  before: KubernetesObject | undefined,
  kind: ResourceKind,
): void {
  const subject = subjectOf(kind, object.metadata.name);
  const problems = checkMetadata(object, before, kind);
  if (kind.kind === "CustomResourceDefinition") problems.push(...checkDefinition(object));
  if (kind.kind === "ConfigMap" || kind.kind === "Secret") problems.push(...checkImmutable(object, before));
  if (kind.schema !== undefined) {
    const structural = validate(object, kind.schema);
    problems.push(...structural);
    if (structural.length === 0) problems.push(...checkRules(object, before, kind.schema));
    else if (kind.isCustom) problems.push(uncheckedRules);
  }
  const refusals = problems.filter((problem) => problem !== uncheckedRules);
  if (refusals.length > 0) throw invalid(subject, problems);
  if (Buffer.byteLength(JSON.stringify(object)) > objectBytesMax) {
    throw new StatusError(500, "", "etcdserver: request is too large");
  }
}

const uncheckedRules: FieldProblem = {
  path: "<nil>",
  reason: "FieldValueInvalid",
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; ' +
    "correct the existing errors to complete validation",
};

function checkMetadata(
  { metadata }: KubernetesObject,
  before: KubernetesObject | undefined,
  kind: ResourceKind,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (path: string, value: unknown, why: string, reason = "FieldValueInvalid") => {
    problems.push({ path, reason, message: `Invalid value: ${JSON.stringify(value)}: ${why}` });
  };
  const { name, labels = {}, annotations = {} } = metadata;
  const isLabel = kind.kind === "Namespace" || kind.kind === "Service";
  const isName = isLabel
    ? name.length <= 63 && labelMark.test(name)
    : name.length <= 253 && nameMark.test(name);
  const hasPathNames = kind.group === "rbac.authorization.k8s.io";
  if (!isName && !hasPathNames) {
    const form = isLabel ? "a lowercase RFC 1123 label" : "a lowercase RFC 1123 subdomain";
    refuse("metadata.name", name, `${form} must consist of lower case alphanumeric characters`);
  }
  for (const value of Object.values(labels)) {
    const isValue = typeof value === "string" && value.length <= 63 && labelValueMark.test(value);
    if (!isValue)
      refuse(
        "metadata.labels",
        value,
        "a valid label must be an empty string or consist of alphanumeric characters",
      );
  }
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  if (bytes > annotationBytesMax) {
    const message = `Too long: may not be more than ${annotationBytesMax} bytes`;
    problems.push({ path: "metadata.annotations", reason: "FieldValueTooLong", message });
  }
  const added = (metadata.finalizers ?? []).filter((each) => !before?.metadata.finalizers?.includes(each));
  if (before?.metadata.deletionTimestamp !== undefined && added.length > 0) {
    const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
    problems.push({ path: "metadata.finalizers", reason: "FieldValueForbidden", message });
  }
  return problems;
}

function checkImmutable(object: KubernetesObject, before: KubernetesObject | undefined): FieldProblem[] {
  if (before?.immutable !== true) return [];
  const isKept = (["data", "binaryData", "immutable"] as const).every((name) => {
    return JSON.stringify(object[name]) === JSON.stringify(before[name]);
  });
  const message = "Forbidden: field is immutable when `immutable` is set";
  return isKept ? [] : [{ path: "data", reason: "FieldValueForbidden", message }];
}
