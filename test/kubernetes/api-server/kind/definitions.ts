/** Custom resource definitions: what makes one valid, and the kinds that it serves. */

import { type Fields, isFields, type KubernetesObject, readPath, toTimestamp } from "../objects.ts";
import type { FieldProblem } from "../status.ts";
import type { PrinterColumn, ResourceKind } from "./kinds.ts";
import { parseRule } from "./rules.ts";
import type { Schema } from "./schema.ts";

interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: Fields };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

interface DefinitionNames {
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

function versionsOf(definition: KubernetesObject): DefinitionVersion[] {
  const versions = definition.spec?.versions;
  return Array.isArray(versions) ? (versions as DefinitionVersion[]) : [];
}

/** The served versions of a definition, as kinds. */
export function kindsOfDefinition(definition: KubernetesObject): ResourceKind[] {
  const group = String(definition.spec?.group);
  const names = definition.spec?.names as DefinitionNames;
  return versionsOf(definition)
    .filter(({ served }) => served)
    .map((version) => ({
      ...{ group, version: version.name, plural: names.plural, kind: names.kind, isCustom: true },
      singular: names.singular ?? names.kind.toLowerCase(),
      listKind: names.listKind ?? `${names.kind}List`,
      namespaced: definition.spec?.scope === "Namespaced",
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      hasStatus: version.subresources?.status !== undefined,
      hasGeneration: true,
      allowsUnconditionalUpdate: false,
      selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.replace(/^\./, "")),
      columns: version.additionalPrinterColumns ?? [],
      schema: version.schema?.openAPIV3Schema,
      collection: `${names.plural}.${group}`,
    }));
}

/** Fills in what the server derives, and says that the names are accepted and the kind is served. */
export function completeDefinition(definition: KubernetesObject, now: Date): KubernetesObject {
  const names = definition.spec?.names as Partial<DefinitionNames> | undefined;
  if (names?.kind === undefined || names.plural === undefined) return definition;
  const complete = { singular: names.kind.toLowerCase(), listKind: `${names.kind}List`, ...names };
  const condition = (type: string, reason: string, message: string) => {
    return { type, status: "True", reason, message, lastTransitionTime: toTimestamp(now) };
  };
  return {
    ...definition,
    spec: { conversion: { strategy: "None" }, ...definition.spec, names: complete },
    status:
      definition.status?.acceptedNames === undefined
        ? {
            conditions: [
              condition("NamesAccepted", "NoConflicts", "no conflicts found"),
              condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ],
            acceptedNames: complete,
            storedVersions: versionsOf(definition).flatMap(({ name, storage }) => (storage ? [name] : [])),
          }
        : { ...definition.status, acceptedNames: complete },
  };
}

/** What a real server refuses in a definition, except the estimated cost of rules. */
export function checkDefinition(definition: KubernetesObject): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const require = (path: string) => {
    const value = readPath(definition, path);
    if (value !== undefined && value !== "") return;
    problems.push({ path, reason: "FieldValueRequired", message: "Required value" });
  };
  for (const path of ["spec.group", "spec.scope", "spec.names.plural", "spec.names.kind", "spec.versions"])
    require(path);
  if (problems.length > 0) return problems;
  const name = `${readPath(definition, "spec.names.plural")}.${readPath(definition, "spec.group")}`;
  if (definition.metadata.name !== name) {
    problems.push(
      refuse("metadata.name", definition.metadata.name, 'must be spec.names.plural+"."+spec.group'),
    );
  }
  const versions = versionsOf(definition);
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const message = "must have exactly one version marked as storage version";
    problems.push(
      refuse(
        "spec.versions",
        versions.map((version) => version.name),
        message,
      ),
    );
  }
  for (const [i, version] of versions.entries())
    problems.push(...checkVersion(version, `spec.versions[${i}]`));
  return problems;
}

function refuse(path: string, value: unknown, message: string): FieldProblem {
  return {
    path,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${message}`,
  };
}

function checkVersion({ schema }: DefinitionVersion, path: string): FieldProblem[] {
  const root = schema?.openAPIV3Schema;
  const at = `${path}.schema.openAPIV3Schema`;
  if (root === undefined) {
    return [{ path: at, reason: "FieldValueRequired", message: "Required value: schemas are required" }];
  }
  if (root.type !== "object") return [refuse(`${at}.type`, root.type ?? "", "must be object at the root")];
  return checkStructure(root, at);
}

/** Structural schemas: a type everywhere, no `additionalProperties` beside `properties`, rules that parse. */
function checkStructure(schema: Schema, path: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const isUntyped = schema["x-kubernetes-preserve-unknown-fields"] || schema["x-kubernetes-int-or-string"];
  if (schema.type === undefined && !isUntyped) {
    const message = "Required value: must not be empty for specified object fields";
    problems.push({ path: `${path}.type`, reason: "FieldValueRequired", message });
  }
  if (schema.properties !== undefined && schema.additionalProperties !== undefined) {
    problems.push({
      path: `${path}.additionalProperties`,
      reason: "FieldValueForbidden",
      message: "Forbidden: additionalProperties and properties are mutual exclusive",
    });
  }
  if (schema.type === "array" && schema.items === undefined) {
    problems.push({
      path: `${path}.items`,
      reason: "FieldValueRequired",
      message: "Required value: must be specified",
    });
  }
  for (const [i, rule] of (schema["x-kubernetes-validations"] ?? []).entries()) {
    for (const expression of [rule.rule, rule.messageExpression]) {
      if (expression === undefined) continue;
      try {
        parseRule(expression);
      } catch (error) {
        const why = `compilation failed: ${(error as Error).message}`;
        problems.push(refuse(`${path}.x-kubernetes-validations[${i}].rule`, expression, why));
      }
    }
  }
  if (schema["x-kubernetes-list-type"] === "map") {
    for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
      const isCertain =
        schema.items?.required?.includes(key) || schema.items?.properties?.[key]?.default !== undefined;
      if (!isCertain) {
        const message =
          "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
        problems.push({
          path: `${path}.items.properties[${key}].default`,
          reason: "FieldValueRequired",
          message,
        });
      }
    }
  }
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const isRootMetadata = path.endsWith("openAPIV3Schema") && name === "metadata";
    if (!isRootMetadata) problems.push(...checkStructure(member, `${path}.properties[${name}]`));
  }
  if (isFields(schema.additionalProperties)) {
    problems.push(...checkStructure(schema.additionalProperties, `${path}.additionalProperties`));
  }
  if (schema.items !== undefined) problems.push(...checkStructure(schema.items, `${path}.items`));
  return problems;
}
