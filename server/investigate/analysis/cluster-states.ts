/** Reads what Kubernetes objects were. */

import type { QueryLimits } from "../../../engine/index.ts";
import { searchBodies } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { ResourceState } from "./kubernetes-changes.ts";
import type { Incident } from "./telemetry.ts";

/** Changes this long before a window may be its cause. */
export const changesBeforeMs = 30 * 60_000;
/** A full state of all objects is sent each hour: this far back lies one. */
const stateBeforeMs = 65 * 60_000;
const query =
  'kubernetes_resources{k8s.resource.kind=~"^(?:Deployment|StatefulSet|DaemonSet|Pod|Node|HorizontalPodAutoscaler|Event)$"}';
const pageRows = 1_000;
/** Rows that one investigation reads: the newest. */
const rowsMax = 5_000;

/** The oldest first. Throws what the store throws. */
export async function readClusterStates(
  store: SearchableStore,
  { startMs, endMs }: Incident,
  limits?: QueryLimits,
): Promise<ResourceState[]> {
  const found: ResourceState[] = [];
  let cursor: string | undefined;
  do {
    const asked = { query, startMs: startMs - stateBeforeMs, endMs: endMs - 1, limit: pageRows };
    const page = await searchBodies(
      store,
      "kubernetes_resources",
      { ...asked, ...(cursor === undefined ? {} : { cursor }) },
      limits,
    );
    for (const { timeNs, message: body, attributes } of page.rows)
      found.push({ atMs: Number(timeNs / 1_000_000n), body, attributes });
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < rowsMax);
  return found.reverse();
}
