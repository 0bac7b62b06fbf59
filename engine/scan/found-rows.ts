import { type ChunkRef, type DamagedChunk, type OpenChunkView, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnBytes } from "../column/column.ts";
import { dayStartNs } from "../model/day.ts";
import type { FoundRow } from "../model/row.ts";
import { TextBuilder, type TextVector, textsAt } from "../vector/text.ts";
import type { CandidateRow } from "./first-rows.ts";

/** Found rows on their way from a scan thread to the query thread: one array for each part of a row. */
export interface FoundRows {
  day: Float64Array;
  timeNs: Float64Array;
  arrival: Float64Array;
  /** For each row: level, message, then key, value, key, value … */
  texts: TextVector;
  /** The index of each row's first text, and at the end the number of all texts. */
  firstText: Uint32Array;
}

function gatherTexts(texts: TextBuilder, { row, made }: CandidateRow, view: ChunkView): void {
  texts.pushBytes(columnBytes(view.column({ kind: "level" }), row));
  if (made === undefined) {
    texts.pushBytes(columnBytes(view.column({ kind: "message" }), row));
    view.eachAttribute(row, (key, value) => {
      texts.push(key);
      texts.pushBytes(value);
    });
    return;
  }
  texts.push(made.message);
  for (const [key, value] of made.attributes) {
    texts.push(key);
    texts.push(value);
  }
}

/** Reads the texts of candidate rows, up to the row with which `isFull` holds for the bytes so far. */
export function gatherRows(
  candidates: readonly CandidateRow[],
  open: OpenChunkView,
  damaged: DamagedChunk[],
  isFull: (bytes: number) => boolean,
): FoundRows {
  const texts = new TextBuilder();
  const firstText = [0];
  let opened: { ref: ChunkRef; view: ChunkView } | undefined;
  try {
    for (const candidate of candidates) {
      const { ref } = candidate;
      try {
        if (opened?.ref !== ref) {
          opened?.view.close();
          opened = undefined;
          opened = { ref, view: open(ref) };
        }
        gatherTexts(texts, candidate, opened.view);
      } catch (error) {
        // The store quarantines the chunk and asks again, so an answer that lacks this row is not used.
        damaged.push(toDamagedChunk(ref, error));
      }
      firstText.push(texts.rows);
      if (isFull(texts.byteLength)) break;
    }
  } finally {
    opened?.view.close();
  }
  const gathered = candidates.slice(0, firstText.length - 1);
  return {
    day: Float64Array.from(gathered, ({ day }) => day),
    timeNs: Float64Array.from(gathered, ({ timeNs }) => timeNs),
    arrival: Float64Array.from(gathered, ({ arrival }) => arrival),
    texts: texts.finishExact(),
    firstText: Uint32Array.from(firstText),
  };
}

/** Row `i` as an object. */
export function decodeFoundRow(rows: FoundRows, i: number): FoundRow {
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
