/** One investigation, and how its answer compares with the truth. */

import type { Store } from "../../engine/index.ts";
import { investigate, investigateFires } from "../../server/index.ts";
import type { LabelledFault } from "./labelled-day.ts";

type Answer = Awaited<ReturnType<typeof investigate>>;

/** A window, with the fault in it; without one where it is healthy. */
export interface Window {
  startMs: number;
  endMs: number;
  fault?: LabelledFault;
  /** Whether it is the window of a fire. */
  isOfFire?: boolean;
}

export interface Case extends Window {
  /** Place of the faulty service among the suspects, from 1; 0 where it is none of them. */
  place: number;
  /** Confidence in the first suspect; 0 without one. */
  confidence: number;
  isAnswered: boolean;
  rows: number;
  ms: number;
  answer: Answer;
}

const nameOf = (service: string) => service.split("/").at(-1)!;

export async function runCase(store: Store, window: Window): Promise<Case> {
  const startedAtMs = performance.now();
  const { startMs, endMs, isOfFire } = window;
  const whole = { startMs, endMs };
  const answer =
    isOfFire === true ? (await investigateFires(store, whole)).answer : await investigate(store, whole);
  const { suspects, verdict, read } = answer;
  const ms = Math.round(performance.now() - startedAtMs);
  const right = window.fault?.services ?? [];
  return {
    ...window,
    place: 1 + suspects.findIndex(({ service }) => right.includes(nameOf(service))),
    confidence: suspects[0]?.confidence ?? 0,
    isAnswered: verdict === "cause",
    rows: read.spans + read.logs + read.resources,
    ...{ ms, answer },
  };
}

/** One line about a case. */
export function describeCase({ fault, place, startMs, answer }: Case): string {
  const named = answer.suspects
    .slice(0, 3)
    .map(
      ({ service, kind, confidence }) => `${nameOf(service)} (${kind}, ${Math.round(confidence * 100)} %)`,
    );
  const truth = fault === undefined ? "healthy" : `${fault.type} in ${fault.services.join(" or ")}`;
  const mark = fault === undefined ? (answer.verdict === "cause" ? "✗" : "✓") : place || "–";
  return `${mark}  ${new Date(startMs).toISOString()} ${truth}: ${answer.verdict}; ${named.join(", ") || "no suspect"}`;
}
