/**
 * The templates of a day's chunks as frames, which a file keeps from one process to the next. The first frame has the
 * templates, each once; the others have the rows of some chunks each, by template and level. FORMAT.md describes them.
 */

import { idDigits } from "../column/template-id-column.ts";
import { Failure } from "../failure.ts";
import { bytesOf, readPayload, uint32Of, writePayload } from "../files/column-payload.ts";
import { FrameKind, frameBytesAt, readFrame, writeFrame } from "../files/frame.ts";
import { isCount, isListOf, isObjectOf, isText } from "../files/json-shape.ts";
import { compressionOfLevel } from "../files/zstd.ts";
import { toPlainBytes } from "../vector/text.ts";
import type { TemplateKeys } from "./indexed-templates.ts";
import type { TemplateGroups } from "./template-groups.ts";

/** The rows of a chunk, as a file has them. */
export interface StoredChunk {
  /** The chunk's identity, from `chunkIdentity`. */
  chunk: string;
  /** Templates are given by their position in the first frame. */
  groups: TemplateGroups;
}

/**
 * The description of a chunk, in JSON. The vectors of all chunks of the frame are concatenated, so a chunk's entries begin
 * where those of the chunk before it end.
 */
interface ChunkOutline {
  chunk: string;
  /** Number of groups, which is the number of entries in each vector. */
  groups: number;
  /** Null stands for rows without a level. */
  levels: (string | null)[];
}

const areOutlines = isListOf(
  isObjectOf<ChunkOutline>({
    chunk: isText,
    groups: isCount,
    levels: isListOf((value) => value === null || isText(value)),
  }),
);

const version = 1;
const compression = compressionOfLevel(1);
/** Buffers of a frame of chunks: the outlines, and five vectors of groups. */
const chunkBuffers = 6;

/**
 * Encodes the templates of a day as a frame. `day` becomes the key of the frame, so that the file of another day is told from
 * this one.
 */
export function packKeys(day: string, { keys: { offsets, bytes }, ids }: TemplateKeys): Uint8Array {
  return pack(day, [bytesOf(offsets), bytes, ids], offsets.length - 1);
}

/** Encodes the rows of some chunks of a day as a frame. */
export function packChunks(day: string, chunks: readonly StoredChunk[]): Uint8Array {
  const outlines = chunks.map(
    ({ chunk, groups }): ChunkOutline => ({
      chunk,
      groups: groups.rows.length,
      levels: groups.levelTexts.map((text) => text ?? null),
    }),
  );
  const join = (vectorOf: (groups: TemplateGroups) => Uint8Array | Uint32Array) =>
    Buffer.concat(chunks.map(({ groups }) => bytesOf(vectorOf(groups))));
  const buffers = [
    Buffer.from(JSON.stringify(outlines)),
    join(({ templates }) => templates),
    join(({ levels }) => levels),
    join(({ rows }) => rows),
    join(({ firstMs }) => firstMs),
    join(({ lastMs }) => lastMs),
  ];
  return pack(day, buffers, chunks.length);
}

function pack(day: string, buffers: Uint8Array[], rows: number): Uint8Array {
  const payload = writePayload({ encoding: version, width: 0, hasValidity: false, rows, buffers });
  return writeFrame(FrameKind.templates, Buffer.from(day), payload, { compression });
}

/** Decodes the templates of a day. Throws Failure "damage", also where the file is of another version or day. */
export function unpackKeys(day: string, frame: Uint8Array): TemplateKeys {
  const { buffers, rows } = unpack(day, frame, 3);
  const [offsets, bytes, ids] = [uint32Of(buffers[0]!), buffers[1]!, buffers[2]!];
  if (offsets.length !== rows + 1 || ids.byteLength !== rows * idDigits) throw makeDamage();
  for (let i = 0; i < rows; i++) if (offsets[i]! > offsets[i + 1]!) throw makeDamage();
  if (offsets[0] !== 0 || offsets[rows] !== bytes.byteLength) throw makeDamage();
  return { keys: { offsets, bytes }, ids };
}

/**
 * Decodes the chunks of one frame. `templateCount`: how many templates the day has; a chunk that names another one is damage.
 * Throws as `unpackKeys`.
 */
export function unpackChunks(day: string, frame: Uint8Array, templateCount: number): StoredChunk[] {
  const { buffers } = unpack(day, frame, chunkBuffers);
  const [outlineBytes, templates, levels, rows, firstMs, lastMs] = buffers as [
    ...[Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array],
  ];
  const outlines = parseOutlines(outlineBytes);
  let from = 0;
  return outlines.map(({ chunk, groups: count, levels: levelTexts }) => {
    const take = (bytes: Uint8Array) => uint32Of(bytes).slice(from, from + count);
    const groups: TemplateGroups = {
      templates: take(templates),
      levels: levels.slice(from, from + count),
      rows: take(rows),
      firstMs: take(firstMs),
      lastMs: take(lastMs),
      levelTexts: levelTexts.map((text) => text ?? undefined),
    };
    from += count;
    if (!areWhole(groups, count, templateCount)) throw makeDamage();
    return { chunk, groups };
  });
}

function parseOutlines(json: Uint8Array): ChunkOutline[] {
  try {
    const outlines = JSON.parse(Buffer.from(json).toString("utf8")) as ChunkOutline[];
    if (areOutlines(outlines)) return outlines;
  } catch {
    // Not JSON.
  }
  throw makeDamage();
}

function areWhole(groups: TemplateGroups, count: number, templateCount: number): boolean {
  const { templates, levels, rows, firstMs, lastMs, levelTexts } = groups;
  return (
    [templates, levels, rows, firstMs, lastMs].every(({ length }) => length === count) &&
    templates.every((template) => template < templateCount) &&
    levels.every((level) => level < levelTexts.length)
  );
}

function unpack(day: string, frame: Uint8Array, bufferCount: number) {
  // A copy, so that vectors are aligned and the memory of the whole file is freed.
  const own = new Uint8Array(frame);
  const bytes = readFrame(own, Buffer.from(day), FrameKind.templates, `templates of ${day}`);
  const payload = readPayload(toPlainBytes(bytes));
  if (payload.encoding !== version || payload.buffers.length !== bufferCount) throw makeDamage();
  return payload;
}

/** The frames of a file. Throws Failure "damage" where the file ends within one. */
export function splitFrames(file: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < file.byteLength; ) {
    const bytes = frameBytesAt(file, at);
    if (bytes === undefined || at + bytes > file.byteLength) throw makeDamage();
    frames.push(file.subarray(at, at + bytes));
    at += bytes;
  }
  return frames;
}

function makeDamage(): Failure {
  return new Failure("damage", "the file of templates is damaged");
}
