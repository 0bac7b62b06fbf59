/** The drawing of a service map: a box for each service, a line for each pair that calls. */

import { nameDuration } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import type { CallNumbers, ServiceEdge, ServiceNode } from "./answers.ts";
import type { MapLayout, PlacedEdge } from "./map-layout.ts";
import { nameService, nameShare } from "./service-name.ts";

/** Pixels of the box of a service. */
export const serviceBox = { width: 176, height: 44 };

/** The drawing shrinks to the width that there is, down to this part of its size, so that names stay readable. */
const scaleMin = 0.75;

interface MapDrawingProps {
  layout: MapLayout;
  /** The name of the service that is looked into. */
  chosen: string | undefined;
  /** Seconds of the range. */
  seconds: number;
  onChoose(name: string | undefined): void;
}

export function MapDrawing({ layout, chosen, seconds, onChoose }: MapDrawingProps) {
  const { services, edges, width, height } = layout;
  const near = new Set(edges.flatMap(({ edge }) => (isOf(edge, chosen) ? [edge.from, edge.to] : [])));
  const isAside = (name: string) => chosen !== undefined && name !== chosen && !near.has(name);
  const mostCalls = Math.max(1, ...edges.map(({ edge }) => edge.calls));
  return (
    <figure class="service-map" aria-label={`Map of ${nameCount(services.length, "service")}`}>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: a title of the whole would show over every place of it */}
      <svg
        viewBox={`0 0 ${Math.max(1, width)} ${Math.max(1, height)}`}
        style={{ maxWidth: `${width}px`, minWidth: `${width * scaleMin}px` }}
      >
        <defs>
          {["", "-error", "-chosen"].map((kind) => (
            <marker
              key={kind}
              id={`map-arrow${kind}`}
              class={`map-arrow${kind}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0 0 8 4 0 8z" />
            </marker>
          ))}
        </defs>
        {edges.map((placed) => (
          <EdgeLine
            key={`${placed.edge.from}\n${placed.edge.to}`}
            placed={placed}
            look={chosen === undefined ? "" : isOf(placed.edge, chosen) ? "chosen" : "aside"}
            strength={Math.log(1 + placed.edge.calls) / Math.log(1 + mostCalls)}
          />
        ))}
        {services.map(({ service, left, top }) => (
          <ServiceBox
            key={service.name}
            service={service}
            {...{ left, top, seconds }}
            isChosen={service.name === chosen}
            isAside={isAside(service.name)}
            onChoose={() => onChoose(service.name === chosen ? undefined : service.name)}
          />
        ))}
      </svg>
    </figure>
  );
}

function isOf({ from, to }: ServiceEdge, name: string | undefined): boolean {
  return from === name || to === name;
}

interface EdgeLineProps {
  placed: PlacedEdge;
  look: "" | "chosen" | "aside";
  /** From 0 to 1: how many calls, beside the pair with the most. */
  strength: number;
}

function EdgeLine({ placed: { edge, points }, look, strength }: EdgeLineProps) {
  const failing = failingOf(edge);
  const arrow = failing === "" ? (look === "chosen" ? "-chosen" : "") : "-error";
  return (
    <path
      class={`map-edge ${look} ${failing}`}
      d={curveThrough(points)}
      stroke-width={1 + 3 * strength}
      marker-end={`url(#map-arrow${arrow})`}
    >
      <title>{`${nameService(edge.from)} calls ${nameService(edge.to)}: ${describeCalls(edge)}`}</title>
    </path>
  );
}

/** A smooth line: each bend is a curve between the middles of two pieces. */
function curveThrough(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (first === undefined || last === undefined) return "";
  const text = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const bends = rest.map((point, i) => {
    const next = rest[i + 1] ?? last;
    const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${text(point)} ${text(i === rest.length - 1 ? last : middle)}`;
  });
  return `M${text(first)}${bends.length === 0 ? `L${text(last)}` : bends.join("")}`;
}

interface ServiceBoxProps {
  service: ServiceNode;
  left: number;
  top: number;
  seconds: number;
  isChosen: boolean;
  isAside: boolean;
  onChoose(): void;
}

/** Characters of a name that fit into a box. */
const nameLengthMax = 24;

function ServiceBox({ service, left, top, seconds, isChosen, isAside, onChoose }: ServiceBoxProps) {
  const name = nameService(service.name);
  const numbers = `${nameRate(service.calls / seconds)}${service.p90 === null ? "" : ` · ${nameDuration(service.p90)}`}${nameErrors(service)}`;
  const shown = name.length > nameLengthMax ? `${name.slice(0, nameLengthMax - 1)}…` : name;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a drawing has no buttons of its own
    <g
      class={`map-box ${service.kind} ${failingOf(service)} ${isAside ? "aside" : ""}`}
      transform={`translate(${left.toFixed(1)} ${top.toFixed(1)})`}
      role="button"
      tabindex={0}
      aria-pressed={isChosen}
      aria-label={`${shown} ${numbers}: ${describeCalls(service)}`}
      onClick={onChoose}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onChoose();
      }}
    >
      <rect {...serviceBox} rx={service.kind === "service" ? 5 : 16} />
      <text x="10" y="18" class="map-name">
        {shown}
      </text>
      {/* Separates the words for those who hear them. */ " "}
      <text x="10" y="35" class="map-numbers">
        {numbers}
      </text>
    </g>
  );
}

function nameRate(perSecond: number): string {
  return perSecond < 0.1
    ? `${Number((perSecond * 60).toPrecision(2))}/min`
    : `${Number(perSecond.toPrecision(2))}/s`;
}

function nameErrors({ calls, errors }: CallNumbers): string {
  return errors === 0 ? "" : ` · ${nameShare(errors / calls)} errors`;
}

/** `failing` where more than a twentieth of the calls are errors, `ailing` where some are. */
function failingOf({ calls, errors }: CallNumbers): "" | "ailing" | "failing" {
  if (errors === 0) return "";
  return errors / calls > 0.05 ? "failing" : "ailing";
}

function describeCalls({ calls, errors, p50, p99 }: CallNumbers): string {
  const durations =
    p50 === null || p99 === null
      ? ""
      : `, half within ${nameDuration(p50)}, 99 % within ${nameDuration(p99)}`;
  return `${nameCount(calls, "call")}, ${nameCount(errors, "error")}${durations}`;
}
