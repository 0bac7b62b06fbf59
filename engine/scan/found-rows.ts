import { type ChunkRef, type DamagedChunk, type OpenChunkView, toDamagedChunk } from "../chunk/chunk-ref.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnBytes } from "../column/column.ts";
import { dayStartNs } from "../model/day.ts";
import type { FoundRow } from "../model/row.ts";
import { growArray } from "../vector/arrays.ts";
import { TextBuilder, type TextVector, textsAt } from "../vector/text.ts";
import type { CandidateRow } from "./first-rows.ts";

/** Found rows on their way from a scan thread to the query thread: one array for each part of a row. */
export interface FoundRows {
  day: Float64Array;
  timeNs: Float64Array;
  arrival: Float64Array;
  /** For each row: level, message, then the values of its attributes. */
  texts: TextVector;
  /** The index of each row's first text, and at the end the number of all texts. */
  firstText: Uint32Array;
  /** The different keys of attributes. */
  keys: string[];
  /** For each text that is the value of an attribute, the index of its key in `keys`; for other texts any number, or none. */
  keyOf: Uint32Array;
}

/** The texts of rows while they are gathered. */
class RowTexts {
  readonly #texts = new TextBuilder();
  readonly #firstText = [0];
  /** Each key with its index. */
  readonly #keys = new Map<string, number>();
  /** Bytes of each key. */
  readonly #bytesOf: number[] = [];
  #keyOf = new Uint32Array(256);
  #keyBytes = 0;

  /** Rows that were ended. */
  get rows(): number {
    return this.#firstText.length - 1;
  }

  /** Bytes of all texts, and of the keys as often as they occur. */
  get byteLength(): number {
    return this.#texts.byteLength + this.#keyBytes;
  }

  addRow({ row, made }: CandidateRow, view: ChunkView): void {
    this.#texts.pushBytes(columnBytes(view.column({ kind: "level" }), row));
    if (made === undefined) {
      this.#texts.pushBytes(columnBytes(view.column({ kind: "message" }), row));
      view.eachAttribute(row, (key, value) => {
        this.#addKey(key);
        this.#texts.pushBytes(value);
      });
      return;
    }
    this.#texts.push(made.message);
    for (const [key, value] of made.attributes) {
      this.#addKey(key);
      this.#texts.push(value);
    }
  }

  /** Ends a row after its last text. */
  endRow(): void {
    this.#firstText.push(this.#texts.rows);
  }

  finish(): Pick<FoundRows, "texts" | "firstText" | "keys" | "keyOf"> {
    return {
      texts: this.#texts.finishExact(),
      firstText: Uint32Array.from(this.#firstText),
      keys: [...this.#keys.keys()],
      keyOf: this.#keyOf.slice(0, this.#texts.rows),
    };
  }

  /** Adds the key of the value that is added next. */
  #addKey(key: string): void {
    const index = this.#keys.get(key) ?? this.#keys.size;
    if (index === this.#keys.size) {
      this.#keys.set(key, index);
      this.#bytesOf.push(Buffer.byteLength(key));
    }
    const value = this.#texts.rows;
    if (value >= this.#keyOf.length) this.#keyOf = growArray(this.#keyOf, value * 2);
    this.#keyOf[value] = index;
    this.#keyBytes += this.#bytesOf[index]!;
  }
}

/** Reads the texts of candidate rows, up to the row with which `isFull` holds for the bytes so far. */
export function gatherRows(
  candidates: readonly CandidateRow[],
  open: OpenChunkView,
  damaged: DamagedChunk[],
  isFull: (bytes: number) => boolean,
): FoundRows {
  const texts = new RowTexts();
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
        texts.addRow(candidate, opened.view);
      } catch (error) {
        // The store quarantines the damaged chunk and repeats the query, so this answer, which lacks the row, is discarded.
        damaged.push(toDamagedChunk(ref, error));
      }
      texts.endRow();
      if (isFull(texts.byteLength)) break;
    }
  } finally {
    opened?.view.close();
  }
  const gathered = candidates.slice(0, texts.rows);
  return {
    day: Float64Array.from(gathered, ({ day }) => day),
    timeNs: Float64Array.from(gathered, ({ timeNs }) => timeNs),
    arrival: Float64Array.from(gathered, ({ arrival }) => arrival),
    ...texts.finish(),
  };
}

/** Bytes of UTF-8 of all texts of a row, and of the keys of its attributes. */
export function foundRowBytes({ texts, firstText, keys, keyOf }: FoundRows, i: number): number {
  const [from, to] = [firstText[i]!, firstText[i + 1]!];
  let bytes = texts.offsets[to]! - texts.offsets[from]!;
  for (let at = from + 2; at < to; at++) bytes += Buffer.byteLength(keys[keyOf[at]!]!);
  return bytes;
}

/** Row `i` as an object. */
export function decodeFoundRow(rows: FoundRows, i: number): FoundRow {
  const from = rows.firstText[i]!;
  const texts = textsAt(rows.texts, from, rows.firstText[i + 1]!);
  const attributes: Record<string, string> = Object.create(null);
  for (let at = 2; at < texts.length; at++) attributes[rows.keys[rows.keyOf[from + at]!]!] = texts[at]!;
  return {
    timeNs: dayStartNs(rows.day[i]!) + BigInt(rows.timeNs[i]!),
    arrival: rows.arrival[i]!,
    level: texts[0]!,
    message: texts[1]!,
    attributes,
  };
}
