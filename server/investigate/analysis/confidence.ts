/** How likely a suspect is the cause: by the strength of its evidence, and by what windows without an incident show. */

import { quantileOf, rampOf, sorted } from "./statistics.ts";
import type { Suspect } from "./suspects.ts";
import type { Incident, Period } from "./telemetry.ts";

/** What the confidence of a suspect is judged by. */
export interface Calibration {
  /** Invocations in the incident. */
  calls: number;
  /** Logs of the incident and of the time before. */
  logs: number;
  /** Whether calls between services are guessed from logs. */
  isGuessed: boolean;
  /** The suspects of windows of the time before, as if each had been an incident. */
  pseudo: readonly (readonly Suspect[])[];
}

/** Of guessed calls fewer than half of the sure answers were right on labelled days: none of them is an answer. */
const guessedWeight = 0.6;
const pseudoMax = 10;
/** A window of the time before counts with this share of the calls of the incident: else it shows too little. */
const callsShareMin = 0.3;

/** Windows of the time before that are as long as the incident, spread over it. */
export function pseudoPeriodsOf({ startMs, endMs }: Incident, calls: Float64Array): Period[] {
  const minutes = Math.max(1, Math.ceil((endMs - startMs) / 60_000));
  const before = calls.length - 1;
  const all = Array.from({ length: before }, (_, chunk) => chunk);
  const found: Period[] = [];
  for (let end = before; end - minutes >= 0; end -= minutes) {
    const incident = all.slice(end - minutes, end);
    const own = incident.reduce((sum, chunk) => sum + calls[chunk]!, 0);
    if (own < callsShareMin * calls[before]! || own === 0) continue;
    found.push({ incident, baseline: all.filter((chunk) => chunk < end - minutes || chunk >= end) });
  }
  const step = Math.max(1, found.length / pseudoMax);
  return Array.from({ length: Math.min(pseudoMax, found.length) }, (_, i) => found[Math.floor(i * step)]!);
}

/** The confidence in the suspect at a place among all. */
export function findConfidence(
  suspects: readonly Suspect[],
  place: number,
  calibration: Calibration,
): number {
  const { service, score, isShown } = suspects[place]!;
  const { pseudo, calls } = calibration;
  const usual = sorted(pseudo.map((each) => each.find((other) => other.service === service)?.score ?? 0));
  const noise = usual.length === 0 ? 0 : quantileOf(usual, 0.75);
  const strength = rampOf(score - noise / 2, 0.05, 0.85);
  const rival = place === 0 ? (suspects[1]?.score ?? 0) : suspects[0]!.score;
  const lead = place === 0 ? 0.7 + 0.3 * rampOf(1 - rival / score, 0, 0.5) : 0.5 * (score / rival);
  // Without calls that show it, nobody suffers, as far as one sees.
  const shown = calls > 0 && isShown ? 1 : 0.5;
  const known = calibration.isGuessed ? guessedWeight : 1;
  return Math.round(100 * (0.3 + 0.68 * strength) * lead * shown * known) / 100;
}
