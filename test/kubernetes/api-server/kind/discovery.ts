/** Discovery documents in the form that every client understands, one for each group and version. */

import type { Fields } from "../objects.ts";
import { groupVersion, type ResourceKind } from "./kinds.ts";

/** The version that the server says it has. */
export const serverVersion = {
  ...{ major: "1", minor: "33", gitVersion: "v1.33.0", gitCommit: "0000000000", gitTreeState: "clean" },
  ...{ buildDate: "2025-04-23T00:00:00Z", goVersion: "go1.24.2", compiler: "gc", platform: "linux/amd64" },
};

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/** The document for a path of discovery; undefined where there is none. */
export function findDiscovery(pathname: string, kinds: readonly ResourceKind[]): Fields | undefined {
  const [root, group, version, ...rest] = pathname.split("/").filter((step) => step !== "");
  if (root === "api" && group === undefined)
    return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (root === "api" && version === undefined) return describeVersion("", group!, kinds);
  if (root !== "apis" || rest.length > 0) return undefined;
  const named = kinds.filter((kind) => kind.group !== "");
  const groups = Map.groupBy(named, (kind) => kind.group);
  if (group === undefined) {
    const list = [...groups].map(([name, of]) => describeGroup(name, of));
    return { kind: "APIGroupList", apiVersion: "v1", groups: list };
  }
  const of = groups.get(group);
  if (of === undefined) return undefined;
  if (version === undefined) return { kind: "APIGroup", apiVersion: "v1", ...describeGroup(group, of) };
  return describeVersion(group, version, kinds);
}

function describeGroup(name: string, kinds: readonly ResourceKind[]): Fields {
  const names = [...new Set(kinds.map((kind) => kind.version))];
  const versions = names.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] };
}

function describeVersion(group: string, version: string, kinds: readonly ResourceKind[]): Fields | undefined {
  const own = kinds.filter((kind) => kind.group === group && kind.version === version);
  if (own.length === 0) return undefined;
  const resources = own.flatMap((kind) => {
    const { plural, singular, shortNames, categories, namespaced } = kind;
    const shared = { namespaced, kind: kind.kind };
    const whole = {
      ...{ name: plural, singularName: singular, ...shared, verbs },
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
    };
    const status = {
      name: `${plural}/status`,
      singularName: "",
      ...shared,
      verbs: ["get", "patch", "update"],
    };
    return kind.hasStatus ? [whole, status] : [whole];
  });
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: groupVersion({ group, version }),
    resources,
  };
}
