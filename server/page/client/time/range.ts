/** Ranges of time: relative ones as people write them, and the milliseconds that they mean. */

/** Two ends, each as it stands in the address: `now`, `-15m`, or Unix milliseconds. */
export interface RangeText {
  from: string;
  to: string;
}

/** Unix milliseconds, both ends inclusive. */
export interface ResolvedRange {
  startTime: number;
  endTime: number;
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Ranges that the picker offers. */
export const presets: readonly { label: string; from: string }[] = [
  { label: "Last 5 minutes", from: "-5m" },
  { label: "Last 15 minutes", from: "-15m" },
  { label: "Last hour", from: "-1h" },
  { label: "Last 4 hours", from: "-4h" },
  { label: "Last day", from: "-1d" },
  { label: "Last 2 days", from: "-2d" },
  { label: "Last week", from: "-7d" },
  { label: "Last 30 days", from: "-30d" },
];

export const defaultRange: RangeText = { from: "-1h", to: "now" };

/** Unix milliseconds of one end; undefined for a text that is none. */
export function resolveTime(text: string, nowMs: number): number | undefined {
  if (text === "now") return nowMs;
  const relative = /^-(\d+)([smhdw])$/.exec(text);
  if (relative) return nowMs - Number(relative[1]) * unitMs[relative[2]!]!;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/**
 * Unix milliseconds of a time as people write it, such as `2026-11-23 16:42` in their zone; undefined for a text that is
 * none. `offsetMinutes` gives the zone's offset at a time.
 */
export function readTimeText(text: string, offsetMinutes: (ms: number) => number): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?$/.exec(text.trim());
  if (match === null) return undefined;
  const clockMs = Date.parse(`${match[1]}T${match[2] ?? "00:00"}Z`);
  return Number.isNaN(clockMs) ? undefined : fromClockMs(clockMs, offsetMinutes);
}

/**
 * When a clock of the zone shows what one of UTC shows at `clockMs`: the earlier time where it does so twice, and a time
 * as far behind the change where the clocks skip it.
 */
function fromClockMs(clockMs: number, offsetMinutes: (ms: number) => number): number {
  const before = clockMs - offsetMinutes(clockMs - unitMs.d!) * unitMs.m!;
  const offsetMs = offsetMinutes(before) * unitMs.m!;
  return before + offsetMs === clockMs ? before : clockMs - offsetMs;
}

/** What a range means now. A range that means nothing, or ends before it begins, is the default one. */
export function resolveRange({ from, to }: RangeText, nowMs: number): ResolvedRange {
  const startTime = resolveTime(from, nowMs);
  const endTime = resolveTime(to, nowMs);
  if (startTime !== undefined && endTime !== undefined && startTime <= endTime) return { startTime, endTime };
  return { startTime: nowMs - 3_600_000, endTime: nowMs };
}

/** True for the range that is chosen already. Where it is relative, choosing it again means its end now. */
export function isSameRange(a: RangeText, b: RangeText): boolean {
  return a.from === b.from && a.to === b.to;
}

/** A name for people: a preset's, or both ends. */
export function nameRange(range: RangeText, formatTime: (ms: number) => string): string {
  const preset = presets.find(({ from }) => from === range.from);
  if (preset !== undefined && range.to === "now") return preset.label;
  const nameEnd = (text: string) => (/^\d+$/.test(text) ? formatTime(Number(text)) : text);
  return `${nameEnd(range.from)} to ${nameEnd(range.to)}`;
}

/** A span of time in the largest units that say it, such as `2 h 5 min`. */
export function nameDuration(ms: number): string {
  if (ms < 0.001) return `${Math.round(ms * 1e6)} ns`;
  if (ms < 1) return `${Number((ms * 1_000).toPrecision(3))} µs`;
  if (ms < 1_000) return `${Number(ms.toPrecision(3))} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toPrecision(3))} s`;
  const units: [string, number][] = [
    ["d", unitMs.d!],
    ["h", unitMs.h!],
    ["min", unitMs.m!],
    ["s", 1_000],
  ];
  const at = units.findIndex(([, unit]) => ms >= unit);
  const [large, small] = [units[at]!, units[at + 1]];
  const count = Math.floor(ms / large[1]);
  const rest = small === undefined ? 0 : Math.floor((ms - count * large[1]) / small[1]);
  return rest === 0 ? `${count} ${large[0]}` : `${count} ${large[0]} ${rest} ${small![0]}`;
}
