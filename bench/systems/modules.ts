import type { SystemModule, SystemName } from "./system.ts";

/** Imports one system's module: a process needs only one, and the peers' packages may not be installed. */
export function loadSystemModule(name: SystemName): Promise<SystemModule> {
  switch (name) {
    case "duckdb":
      return import("./duckdb.ts");
    case "clickhouse":
      return import("./clickhouse.ts");
    case "ripgrep":
      return import("./ripgrep.ts");
    default:
      return import("./svc.ts");
  }
}
