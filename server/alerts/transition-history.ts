/**
 * The stored transitions of alerts, kept by age within a bound. They lie in segments of some dozen, so that a transition
 * writes little; the id of a segment holds the time of its first one.
 */
import type { Json, State, StateChange } from "../../engine/index.ts";
import { historyRowsMax, historySegmentRows, historySegmentsMax } from "./limits.ts";
import type { Transition } from "./state/judgement.ts";

const table = "alert-transitions";
/** What earlier versions stored: one list for each alert, the newest first. */
const oldTable = "alert-histories";

/** Which transitions are asked for. All that are given must hold. */
export interface HistoryQuery {
  rule?: string | undefined;
  /** Labels that the instance has, and their values. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Range of the time of the transition, both ends included. */
  startMs?: number | undefined;
  endMs?: number | undefined;
  limit: number;
  /** The end of the page before: of a page's `cursor`. */
  cursor?: string | undefined;
}

export interface HistoryPage {
  /** The newest first. */
  transitions: Transition[];
  /** Where the next page begins; absent behind the last. */
  cursor?: string;
  /** Older transitions are not kept, by age or because there are too many. */
  keptFromMs: number;
}

interface Segment {
  id: string;
  /** Time of the first transition, or one more than that of the segment before. */
  fromMs: number;
  /** The oldest first. */
  transitions: readonly Transition[];
}

export class TransitionHistory {
  readonly #state: State;
  readonly #ageMs: number;

  constructor(state: State, ageMs: number) {
    this.#state = state;
    this.#ageMs = ageMs;
  }

  /** Segments of all alerts. */
  get segmentCount(): number {
    return this.#state.count(table);
  }

  /** Throws an Error for people where the cursor is none. */
  page(alertId: string, query: HistoryQuery, nowMs: number): HistoryPage {
    const segments = this.#segments(alertId);
    const keptFromMs = Math.max(nowMs - this.#ageMs, isFull(segments) ? segments[0]!.fromMs : 0);
    const found: HistoryPage = { transitions: [], keptFromMs };
    let [beforeMs, before] = readCursor(query.cursor);
    for (const { fromMs, transitions } of segments.toReversed()) {
      if (fromMs > beforeMs) continue;
      if (fromMs < beforeMs) before = transitions.length;
      for (let i = Math.min(before, transitions.length) - 1; i >= 0; i--) {
        const transition = transitions[i]!;
        if (transition.atMs < keptFromMs || !isAsked(transition, query)) continue;
        if (found.transitions.length === query.limit) return { ...found, cursor: writeCursor(fromMs, i + 1) };
        found.transitions.push(transition);
      }
      beforeMs = fromMs - 1;
    }
    return found;
  }

  /** The changes that append transitions, which come the oldest first, and delete what is too old or too much. */
  append(alertId: string, transitions: readonly Transition[], nowMs: number): StateChange[] {
    if (transitions.length === 0) return [];
    const segments = this.#segments(alertId);
    const last = segments.at(-1);
    const appended: Segment[] = [];
    let rest = [...transitions];
    if (last !== undefined && last.transitions.length < historySegmentRows && last.id !== "") {
      const taken = rest.splice(0, historySegmentRows - last.transitions.length);
      appended.push({ ...last, transitions: [...last.transitions, ...taken] });
    }
    let lastMs = last?.fromMs ?? 0;
    while (rest.length > 0) {
      lastMs = Math.max(lastMs + 1, rest[0]!.atMs);
      const id = segmentId(alertId, lastMs);
      appended.push({ id, fromMs: lastMs, transitions: rest.slice(0, historySegmentRows) });
      rest = rest.slice(historySegmentRows);
    }
    const all = [...segments.filter(({ id }) => !appended.some((each) => each.id === id)), ...appended];
    const excess = this.#excess(all, nowMs);
    return [
      ...appended.filter((each) => !excess.includes(each)).map(({ id, transitions: of }) => change(id, of)),
      ...excess.filter((each) => !appended.includes(each)).map((each) => removalOf(alertId, each)),
    ];
  }

  /** The changes that delete the history of an alert. */
  removal(alertId: string): StateChange[] {
    return this.#segments(alertId).map((each) => removalOf(alertId, each));
  }

  /** The changes that delete the oldest segments of all alerts: those that are too old, and those that are too many. */
  expired(alertIds: readonly string[], nowMs: number): StateChange[] {
    const all = alertIds.map((alertId) => ({ alertId, segments: this.#segments(alertId) }));
    const removed = all.flatMap(({ alertId, segments }) =>
      this.#excess(segments, nowMs).map((segment) => ({ alertId, segment })),
    );
    const gone = new Set(removed.map(({ segment }) => segment));
    // The newest segment of each alert stays.
    const left = all
      .flatMap(({ alertId, segments }) => segments.slice(0, -1).map((segment) => ({ alertId, segment })))
      .filter(({ segment }) => !gone.has(segment))
      .sort((a, b) => a.segment.fromMs - b.segment.fromMs);
    removed.push(...left.slice(0, Math.max(0, left.length - historySegmentsMax)));
    return removed.map(({ alertId, segment }) => removalOf(alertId, segment));
  }

  /** The segments of one alert all of whose transitions are too old, and the oldest where there are too many. */
  #excess(segments: readonly Segment[], nowMs: number): Segment[] {
    const keptFromMs = nowMs - this.#ageMs;
    const most = historyRowsMax / historySegmentRows;
    return segments.filter((segment, i) => {
      const newest = segment.transitions.at(-1)?.atMs ?? 0;
      const isOld = segment.fromMs < keptFromMs && newest < keptFromMs;
      return isOld || i < segments.length - most;
    });
  }

  /** The segments of an alert, the oldest first. */
  #segments(alertId: string): Segment[] {
    const old = (this.#state.get(oldTable, alertId) ?? []) as unknown as readonly Transition[];
    const oldest: Segment[] =
      old.length === 0 ? [] : [{ id: "", fromMs: old.at(-1)!.atMs, transitions: old.toReversed() }];
    const entries = this.#state.list(table);
    const prefix = `${alertId}/`;
    let at = findPlace(entries, prefix);
    const found: Segment[] = [];
    for (; entries[at]?.id.startsWith(prefix); at++) {
      const { id, value } = entries[at]!;
      // Another alert's id may begin with this one and a slash.
      if (!/^\d{15}$/.test(id.slice(prefix.length))) continue;
      found.push({
        id,
        fromMs: Number(id.slice(prefix.length)),
        transitions: value as unknown as readonly Transition[],
      });
    }
    return [...oldest, ...found];
  }
}

function isFull(segments: readonly Segment[]): boolean {
  return segments.length >= historyRowsMax / historySegmentRows;
}

/** Index of the first entry whose id is not less. */
function findPlace(entries: readonly { id: string }[], id: string): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (entries[middle]!.id < id) from = middle + 1;
    else to = middle;
  }
  return from;
}

function segmentId(alertId: string, fromMs: number): string {
  return `${alertId}/${String(fromMs).padStart(15, "0")}`;
}

function change(id: string, transitions: readonly Transition[]): StateChange {
  return { table, id, value: transitions as unknown as Json };
}

function removalOf(alertId: string, { id }: Segment): StateChange {
  return id === "" ? { table: oldTable, id: alertId, value: undefined } : { table, id, value: undefined };
}

function isAsked({ rule, labels, atMs }: Transition, query: HistoryQuery): boolean {
  const { startMs = Number.NEGATIVE_INFINITY, endMs = Number.POSITIVE_INFINITY } = query;
  if (atMs < startMs || atMs > endMs || (query.rule ?? rule) !== rule) return false;
  return Object.entries(query.labels ?? {}).every(([name, value]) => labels[name] === value);
}

/** A segment, and the number of its transitions that are not read yet. */
function writeCursor(fromMs: number, before: number): string {
  return Buffer.from(`${fromMs} ${before}`).toString("base64url");
}

function readCursor(cursor: string | undefined): [fromMs: number, before: number] {
  if (cursor === undefined) return [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const [, fromMs, before] = /^(\d+) (\d+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  if (fromMs === undefined) throw new Error("cursor must be that of a page");
  return [Number(fromMs), Number(before)];
}
