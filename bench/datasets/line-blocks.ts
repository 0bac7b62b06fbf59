import { createReadStream } from "node:fs";

/** Whole lines of a file, byte for byte. */
export interface LineBlock {
  bytes: Buffer;
  rows: number;
}

/** Reads the first `rows` lines of a file, `linesPerBlock` lines a block; the last block may be shorter. */
export async function* readLineBlocks(
  file: string,
  rows: number,
  linesPerBlock: number,
): AsyncGenerator<LineBlock, void> {
  let pending: Buffer[] = [];
  let pendingLines = 0;
  let left = rows;
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
    const chunk = piece as Buffer;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      pendingLines += 1;
      if (pendingLines < Math.min(linesPerBlock, left)) continue;
      yield { bytes: Buffer.concat([...pending, chunk.subarray(from, at + 1)]), rows: pendingLines };
      left -= pendingLines;
      if (left === 0) return;
      pending = [];
      pendingLines = 0;
      from = at + 1;
    }
    pending.push(chunk.subarray(from));
  }
}
