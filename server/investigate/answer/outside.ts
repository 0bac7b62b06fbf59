/** Dependencies that send no telemetry of their own: what a suspect calls outside, compared with before. */

import type { QueryLimits } from "../../../engine/index.ts";
import { type MappedEdge, queryServiceMap, type ServiceMap } from "../../../query/index.ts";
import type { SearchableStore } from "../../access/searchable-store.ts";
import type { Incident } from "../analysis/telemetry.ts";
import { quote } from "../query-text.ts";
import type { Evidence } from "./evidence.ts";
import { nameMs, nameService, nameShare } from "./wording.ts";

const callsMin = 5;
const errorsMore = 0.1;
const slowerBy = 2;
const slowerMs = 5;
/** Half of the calls before: an earlier incident of less is no rule. */
const beforeMs = 20 * 60_000;

/** Calls of a suspect to something outside that fail or take longer, the worst first. Throws what the store throws. */
export async function findOutside(
  store: SearchableStore,
  service: string,
  { startMs, endMs, baselineMs }: Incident,
  limits: QueryLimits,
): Promise<Evidence[]> {
  const query = `traces{service.name=${quote(service)}}`;
  const [during, before] = await Promise.all([
    queryServiceMap(store, { query, startMs, endMs: endMs - 1 }, limits),
    queryServiceMap(
      store,
      { query, startMs: Math.max(baselineMs, startMs - beforeMs), endMs: startMs - 1 },
      limits,
    ),
  ]);
  const usualOf = new Map(edgesOutside(before, service).map((edge) => [edge.to, edge]));
  return edgesOutside(during, service)
    .map((edge) => ({ edge, usual: usualOf.get(edge.to) }))
    .filter(({ edge, usual }) => isWorse(edge, usual))
    .sort((a, b) => harmOf(b.edge, b.usual) - harmOf(a.edge, a.usual))
    .map(({ edge, usual }) => stateEdge(edge, usual!));
}

function edgesOutside({ services, edges }: ServiceMap, service: string): MappedEdge[] {
  const outside = new Set(services.filter(({ kind }) => kind !== "service").map(({ name }) => name));
  return edges.filter(({ from, to, calls }) => from === service && outside.has(to) && calls >= callsMin);
}

const errorsOf = ({ errors, calls }: MappedEdge) => errors / calls;

function isWorse(edge: MappedEdge, usual: MappedEdge | undefined): boolean {
  if (usual === undefined) return false;
  const slower = (edge.p50 ?? 0) - (usual.p50 ?? 0);
  return (
    errorsOf(edge) - errorsOf(usual) >= errorsMore ||
    ((edge.p50 ?? 0) >= slowerBy * (usual.p50 ?? 0) && slower >= slowerMs)
  );
}

function harmOf(edge: MappedEdge, usual: MappedEdge | undefined): number {
  if (usual === undefined) return 0;
  return 1_000 * (errorsOf(edge) - errorsOf(usual)) + ((edge.p50 ?? 0) - (usual.p50 ?? 0));
}

function stateEdge(edge: MappedEdge, usual: MappedEdge): Evidence {
  const { from, to } = edge;
  const failing =
    errorsOf(edge) - errorsOf(usual) >= errorsMore
      ? `${nameShare(errorsOf(edge))} of the calls fail, where ${nameShare(errorsOf(usual))} is usual`
      : `half of the calls take ${nameMs(edge.p50 ?? 0)} or more, where ${nameMs(usual.p50 ?? 0)} is usual`;
  return {
    sentence: `${nameService(from)} calls ${to}, which sends no spans: ${failing}`,
    query: `traces{service.name=${quote(from)}, kind=~"^(?:client|producer)$"}`,
  };
}
