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
  /** Where the next page begins; absent after the last. */
  cursor?: string;
  /** Older transitions are not kept, by age or because there are too many. */
  keptFromMs: number;
}

interface Segment {
  id: string;
  /** Time of the first transition, or one more than that of the segment before. */
  fromMs: number;
  /** The oldest first. Parsed when they are first read; none where the segment is not stored. */
  read(): readonly Transition[];
}

export class TransitionHistory {
  readonly #state: State;
  readonly #ageMs: number;
  /** Ids of the segments of each alert, the oldest first. Some may not be stored, since a commit failed. */
  readonly #ids = new Map<string, string[]>();

  constructor(state: State, ageMs: number) {
    this.#state = state;
    this.#ageMs = ageMs;
    for (const { id } of state.list(table)) this.#idsOf(id.slice(0, id.lastIndexOf("/"))).push(id);
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
    for (const { fromMs, read } of segments.toReversed()) {
      if (fromMs > beforeMs) continue;
      const transitions = read();
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
    const segments = this.#segments(alertId).filter(({ read }) => read().length > 0);
    const last = segments.at(-1);
    const appended: Segment[] = [];
    let rest = [...transitions];
    const room = last === undefined || last.id === "" ? 0 : historySegmentRows - last.read().length;
    if (last !== undefined && room > 0) {
      const filled = [...last.read(), ...rest.splice(0, room)];
      appended.push({ ...last, read: () => filled });
    }
    let lastMs = last?.fromMs ?? 0;
    while (rest.length > 0) {
      lastMs = Math.max(lastMs + 1, rest[0]!.atMs);
      const taken = rest.slice(0, historySegmentRows);
      appended.push({ id: segmentId(alertId, lastMs), fromMs: lastMs, read: () => taken });
      rest = rest.slice(historySegmentRows);
    }
    const all = [...segments.filter(({ id }) => !appended.some((each) => each.id === id)), ...appended];
    this.#ids.set(
      alertId,
      all.flatMap(({ id }) => (id === "" ? [] : [id])),
    );
    const excess = this.#excess(all, nowMs);
    return [
      ...appended.filter((each) => !excess.includes(each)).map(({ id, read }) => change(id, read())),
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
      const isOld = segment.fromMs < keptFromMs && (segment.read().at(-1)?.atMs ?? 0) < keptFromMs;
      return isOld || i < segments.length - most;
    });
  }

  /** The segments of an alert, the oldest first. */
  #segments(alertId: string): Segment[] {
    const old = (this.#state.get(oldTable, alertId) ?? []) as unknown as readonly Transition[];
    const oldest: Segment[] =
      old.length === 0 ? [] : [{ id: "", fromMs: old.at(-1)!.atMs, read: () => old.toReversed() }];
    const others = this.#idsOf(alertId).map((id): Segment => {
      const read = () => (this.#state.get(table, id) ?? []) as unknown as readonly Transition[];
      return { id, fromMs: Number(id.slice(id.lastIndexOf("/") + 1)), read };
    });
    return [...oldest, ...others];
  }

  #idsOf(alertId: string): string[] {
    const ids = this.#ids.get(alertId) ?? [];
    this.#ids.set(alertId, ids);
    return ids;
  }
}

function isFull(segments: readonly Segment[]): boolean {
  return segments.length >= historyRowsMax / historySegmentRows;
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
