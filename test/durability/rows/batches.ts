/**
 * Batches that are determined by seed and number: from the numbers of the acknowledged batches a test knows what a
 * store must hold. The attributes of each row name its batch and its index.
 */
import type { LogRow, RowSignal } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";

export const dayCount = 5;
export const dayMs = 86_400_000;
export const firstDayMs = Date.UTC(2025, 2, 1);
/** Later than every row; the time of the stores' clocks. */
export const nowMs = firstDayMs + 30 * dayMs;

export const batchRowsMax = 2_000;

/** Random streams of one seed: the rows of batch n come from stream `rowStream` + n. */
const rowStream = 1_000_000;

/** Batches from this number on hold long texts without a template: their chunk compresses them in blocks. */
export const firstTextBatch = 10_000_000;
/** The data file of the day on which all of their rows are. */
export const textFile = /\/logs\/2025-03-03\/data\.mdb$/;
const textDay = 2;

export function rowsOf(seed: number, batch: number): LogRow[] {
  const random = new Random(seed, rowStream + batch);
  if (batch >= firstTextBatch) return textRowsOf(random, batch);
  const count = randomRowCount(random);
  const days = Array.from({ length: random.between(1, 3) }, () => random.below(dayCount));
  return Array.from({ length: count }, (_, row) => randomRow(random, batch, row, random.pick(days)));
}

/** Rows of one day whose messages are 5 MiB together. */
function textRowsOf(random: Random, batch: number): LogRow[] {
  return Array.from({ length: 200 }, (_, row) => ({
    timeNs: randomTimeNs(random, textDay),
    level: random.pick(levels),
    message: randomText(random),
    attributes: randomAttributes(random, batch, row),
  }));
}

/** A text of 26 KB in which no two words are the same, and none has a digit. */
export function randomText(random: Random): string {
  const separator = random.oneIn(2) ? " " : "-";
  return Array.from({ length: 1_560 }, () => random.hex(16).replace(/\d/g, "g")).join(separator);
}

/** The idempotency key of a batch; two batches of three have one. */
export function keyOf(seed: number, batch: number): string | undefined {
  return batch % 3 === 0 ? undefined : `key-${seed}-${batch}`;
}

/** The signals of the batches. */
export const batchSignals = ["logs", "traces"] as const satisfies RowSignal[];

/** The signal of a batch; one batch of four is of traces. */
export function signalOf(batch: number): (typeof batchSignals)[number] {
  return batch % 4 === 1 ? "traces" : "logs";
}

/** The batch and index that a row's attributes name, or undefined. */
export function identityOf(
  attributes: Readonly<Record<string, string>>,
): [batch: number, row: number] | undefined {
  const match = /^(\d+):(\d+)$/.exec(attributes.id ?? "");
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

export function isSameRow(a: LogRow, b: LogRow): boolean {
  if (a.timeNs !== b.timeNs || a.level !== b.level || a.message !== b.message) return false;
  const keys = Object.keys(a.attributes);
  return (
    keys.length === Object.keys(b.attributes).length &&
    keys.every((key) => a.attributes[key] === b.attributes[key])
  );
}

/** Mostly small, as in live traffic, and sometimes as large as a shipper's full buffer. */
function randomRowCount(random: Random): number {
  if (random.oneIn(14)) return random.between(1, batchRowsMax);
  return random.oneIn(3) ? random.between(1, 300) : random.between(1, 30);
}

function randomRow(random: Random, batch: number, row: number, day: number): LogRow {
  return {
    timeNs: randomTimeNs(random, day),
    level: random.pick(levels),
    message: randomMessage(random, batch, row),
    attributes: randomAttributes(random, batch, row),
  };
}

/** Half of the rows have one of four times of the day, so that there are many ties. */
function randomTimeNs(random: Random, day: number): bigint {
  const startNs = BigInt(firstDayMs + day * dayMs) * 1_000_000n;
  if (random.oneIn(2)) return startNs + BigInt(random.below(4)) * 21_600_000_000_000n;
  return startNs + BigInt(random.below(dayMs / 64) * 64) * 1_000_000n + BigInt(random.below(1_000_000));
}

const levels = ["info", "info", "info", "INFO", "warn", "error", "", "débogage"];
const words = [
  "connection",
  "refused",
  "naïve",
  "日本語",
  "🚀",
  "timeout",
  "id=7f3a",
  "\u0000",
  "GET /v1/cart",
  "Ω",
];

function randomMessage(random: Random, batch: number, row: number): string {
  if (random.oneIn(40)) return "";
  const tail = Array.from({ length: random.between(0, 8) }, () => random.pick(words)).join(" ");
  if (random.oneIn(200)) return `${tail} ${random.hex(8).repeat(random.between(10, 2_000))}`;
  return `batch ${batch} row ${row} ${random.hex(random.between(0, 24))} ${tail}`;
}

function randomAttributes(random: Random, batch: number, row: number): Record<string, string> {
  const attributes: Record<string, string> = {
    id: `${batch}:${row}`,
    "service.name": `/k8s/shop/service-${random.below(12)}`,
  };
  if (random.oneIn(2)) attributes.status = String(random.pick([200, 404, 500]));
  if (random.oneIn(3)) attributes.trace_id = random.hex(32);
  if (random.oneIn(9)) attributes[`rare.${random.below(60)}`] = random.oneIn(4) ? "" : random.hex(6);
  return attributes;
}
