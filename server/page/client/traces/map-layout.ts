/** Where the services of a map stand: callers on the left of what they call. */

import { graphlib, layout } from "@dagrejs/dagre";
import type { ServiceEdge, ServiceNode } from "./answers.ts";

interface PlacedService {
  service: ServiceNode;
  /** Pixels, of the upper left corner. */
  left: number;
  top: number;
}

export interface PlacedEdge {
  edge: ServiceEdge;
  /** Points of the line in pixels, from the caller to the called. */
  points: { x: number; y: number }[];
}

export interface MapLayout {
  services: PlacedService[];
  edges: PlacedEdge[];
  /** Pixels. */
  width: number;
  height: number;
}

/** Places services and edges; edges whose ends are not among the services are left out. `box`: pixels of a service. */
export function placeServices(
  services: readonly ServiceNode[],
  edges: readonly ServiceEdge[],
  box: { width: number; height: number },
): MapLayout {
  const graph = new graphlib.Graph({ directed: true });
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 64, edgesep: 8, marginx: 8, marginy: 8 });
  // Numbers stand for names: a name from outside may be any text.
  const numberOf = new Map(services.map(({ name }, i) => [name, String(i)]));
  for (const number of numberOf.values()) graph.setNode(number, { ...box });
  const drawn = edges.filter(({ from, to }) => numberOf.has(from) && numberOf.has(to));
  for (const { from, to, calls } of drawn)
    graph.setEdge(numberOf.get(from)!, numberOf.get(to)!, { weight: 1 + Math.log10(calls) });
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    services: services.map((service, i) => {
      const { x, y } = graph.node(String(i)) as { x: number; y: number };
      return { service, left: x - box.width / 2, top: y - box.height / 2 };
    }),
    edges: drawn.map((edge) => {
      const { points } = graph.edge(numberOf.get(edge.from)!, numberOf.get(edge.to)!) as PlacedEdge;
      return { edge, points };
    }),
    ...{ width, height },
  };
}
