/** Searches for the newest rows over the scan threads. */
import { dayStartNs } from "../model/day.ts";
import { rangeInDay } from "../model/day-range.ts";
import type { FoundRow, RowPosition } from "../model/row.ts";
import type { RowSignal } from "../model/signal.ts";
import type { Step } from "../plan/filter.ts";
import { noteUnread, type Scanned } from "../plan/scan-statistics.ts";
import { compareCandidates } from "../scan/newest-rows.ts";
import type { Settling } from "../summary/metadata-answers.ts";
import type { ChunkRef, Control, FoundRows, SearchAnswer, SearchTask } from "../threads/protocol.ts";
import { textsAt } from "../vector/text.ts";
import { askShards, askThreads, type Dispatch, scannedBy } from "./scatter-gather.ts";

export interface RowQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
  /** Rows to return at most, 1 or more. */
  limit: number;
  /** Only rows behind this place, which a page before ended with. */
  after?: RowPosition;
}

export interface SearchResult {
  /** Newest first, ties in the order of arrival. */
  rows: FoundRow[];
  /** Whether there are rows behind the last one. */
  more: boolean;
  scanned: Scanned;
}

export async function dispatchSearch(
  dispatch: Dispatch,
  query: RowQuery,
  control: Control,
): Promise<SearchResult> {
  const { signal, fromNs, after, steps } = query;
  const toNs = after !== undefined && after.timeNs < query.toNs ? after.timeNs + 1n : query.toNs;
  // One row more than asked for tells whether there is a next page.
  const limit = query.limit + 1;
  const answers = await askShards<SearchAnswer>(
    dispatch,
    { signal, fromNs, toNs },
    control,
    (chunks) => ({ kind: "search", chunks, fromNs, toNs, after, steps, limit, control }),
    (whole, settling) => askNewest(dispatch, whole as SearchTask, settling),
  );
  return mergeAnswers(answers, query.limit);
}

/** A chunk that seems to hold so many times the rows asked for is asked alone at first. */
const surplus = 2;

/** Where the newest chunk seems to hold all rows that are asked for, one thread finds them: mostly no other chunk has newer ones. */
async function askNewest(
  { shards }: Dispatch,
  whole: SearchTask,
  settling: Settling | undefined,
): Promise<SearchAnswer[]> {
  const { chunks, control } = whole;
  const [newest] = chunks;
  if (newest === undefined || rowsExpected(newest, whole, settling) < whole.limit * surplus)
    return askThreads<SearchAnswer>(shards, whole, control);
  const first = await askThreads<SearchAnswer>(shards, { ...whole, chunks: [newest] }, control);
  const [{ rows, scanned, damaged }] = first as [SearchAnswer];
  if (damaged.length > 0) return first;
  const last = rows.timeNs.length - 1;
  const isFull = rows.timeNs.length === whole.limit;
  const others = chunks.slice(1).filter((ref) => {
    if (!isFull || mayReach(ref, rows.day[last]!, rows.timeNs[last]!)) return true;
    noteUnread(scanned, ref);
    return false;
  });
  if (others.length === 0) return first;
  return [...first, ...(await askThreads<SearchAnswer>(shards, { ...whole, chunks: others }, control))];
}

/** About how many rows the newest chunk that is left has for a search; 0 where that is not known. */
function rowsExpected(ref: ChunkRef, { fromNs, toNs, steps }: SearchTask, settling?: Settling): number {
  const { rows, timeNsMin, timeNsMax } = ref.kind === "sealed" ? ref.entry : ref;
  const passing = settling?.rowsOfFirst ?? (steps.length === 0 ? rows : 0);
  const range = rangeInDay(fromNs, toNs, ref.day);
  const within = Math.min(timeNsMax + 1, range.to) - Math.max(timeNsMin, range.from);
  return (passing * within) / (timeNsMax + 1 - timeNsMin);
}

/** Whether a chunk may have rows as new as a time of a day. */
function mayReach(ref: ChunkRef, day: number, timeNs: number): boolean {
  const { timeNsMax } = ref.kind === "sealed" ? ref.entry : ref;
  return ref.day > day || (ref.day === day && timeNsMax >= timeNs);
}

function mergeAnswers(answers: readonly SearchAnswer[], limit: number): SearchResult {
  const places = answers.flatMap(({ rows }) =>
    Array.from(rows.day, (day, i) => ({
      day,
      timeNs: rows.timeNs[i]!,
      arrival: rows.arrival[i]!,
      rows,
      i,
    })),
  );
  places.sort(compareCandidates);
  const rows = places.slice(0, limit).map(({ rows, i }) => foundRow(rows, i));
  return { rows, more: places.length > limit, scanned: scannedBy(answers) };
}

export function foundRow(rows: FoundRows, i: number): FoundRow {
  const texts = textsAt(rows.texts, rows.firstText[i]!, rows.firstText[i + 1]!);
  const attributes: Record<string, string> = Object.create(null);
  for (let at = 2; at < texts.length; at += 2) attributes[texts[at]!] = texts[at + 1]!;
  return {
    timeNs: dayStartNs(rows.day[i]!) + BigInt(rows.timeNs[i]!),
    arrival: rows.arrival[i]!,
    level: texts[0]!,
    message: texts[1]!,
    attributes,
  };
}
