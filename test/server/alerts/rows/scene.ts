/** An alert and the rows of some senders, drawn at random. */
import type { Random } from "../../../../fixtures/random.ts";
import type { AlertDefinition } from "../../../../server/alerts/state/alert-definition.ts";
import type { Operator } from "../../../../server/model/alert.ts";
import { alertOf, ruleOf } from "../world.ts";
import { beginMs, delayMs, type Figure, lastMs, type Row, type Sender, second } from "./world.ts";

export interface Scene {
  alert: AlertDefinition;
  figure: Figure;
  isPlain: boolean;
  windowMs: number;
  senders: Sender[];
  rows: Row[];
  /** Start of the first bucket that is judged. */
  firstMs: number;
}

export interface Life {
  upMs: number;
  how: "stop" | "kill" | "in a write";
  downMs: number;
}

export interface SceneOptions {
  /** Some rows come late, while their bucket is in the window; else all come within the delay. */
  comesLate: boolean;
  bucketSeconds: number;
}

export function anyScene(random: Random, options: SceneOptions): Scene {
  const { bucketSeconds } = options;
  const figure = random.pick(["count", "count", "min", "max", "avg"] as const);
  const isPlain = random.oneIn(4);
  const m = random.between(1, 3);
  const n = m + random.between(0, 2);
  const missing = random.pick(["notBreaching", "breaching", "ignore", "missing"] as const);
  const rule = ruleOf({ m, n, missing });
  const operator: Operator = random.pick(["greaterThan", "greaterThanOrEqual", "lessThan"] as const);
  const windowMs = bucketSeconds * second * random.pick([1, 1, 2, 4]);
  rule.static.operators = [{ operator, threshold: figure === "count" ? windowMs / second / 20 : 5 }];
  const alert = alertOf("a", "q", [rule], bucketSeconds);
  const senders = Array.from({ length: random.between(1, 2) }, (_, i) => ({
    name: `s${i}`,
    repeats: random.oneIn(2),
  }));
  const widthMs = bucketSeconds * second;
  const lateMsMax = options.comesLate ? (n + 1) * widthMs : 0;
  const rows = senders.flatMap(({ name }) => anyRows(random, name, widthMs, lateMsMax));
  // Of an alert that is made at the beginning: the newest bucket that was complete then.
  const firstMs = beginMs - 2 * widthMs;
  return { alert, figure, isPlain, windowMs, senders, rows, firstMs };
}

/** Busy, calm or silent for some buckets; a row takes up to 20 s to arrive, and some take longer. */
function anyRows(random: Random, name: string, widthMs: number, lateMsMax: number): Row[] {
  const rows: Row[] = [];
  for (let stretchMs = beginMs; stretchMs < lastMs; ) {
    const endMs = stretchMs + random.between(1, 5) * widthMs;
    const perBucket = random.pick([
      0,
      1,
      2,
      widthMs / second / 12,
      widthMs / second / 30,
      widthMs / second / 8,
    ]);
    const high = random.oneIn(2);
    for (let bucketMs = stretchMs; bucketMs < endMs; bucketMs += widthMs) {
      const lateShare = random.pick([8, 8, 2, 1]);
      for (let i = 0; i < perBucket; i++) {
        const atMs = bucketMs + random.below(widthMs);
        const isLate = lateMsMax > 0 && random.oneIn(lateShare);
        const takesMs = random.below(isLate ? delayMs + lateMsMax : 20 * second);
        rows.push({
          name,
          atMs,
          value: random.between(high ? 4 : 0, high ? 9 : 6),
          arrivedMs: atMs + takesMs,
        });
      }
    }
    stretchMs = endMs;
  }
  return rows;
}
