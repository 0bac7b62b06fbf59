import { createReadStream } from "node:fs";

/** Some whole lines of a file, as they stand in it. */
export interface Lines {
  bytes: Buffer;
  rows: number;
}

/** The first `rows` lines of a file, `linesAtATime` at a time. */
export async function* readLines(
  file: string,
  rows: number,
  linesAtATime: number,
): AsyncGenerator<Lines, void> {
  let pending: Buffer[] = [];
  let pendingLines = 0;
  let left = rows;
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
    const chunk = piece as Buffer;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      pendingLines += 1;
      if (pendingLines < Math.min(linesAtATime, left)) continue;
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
