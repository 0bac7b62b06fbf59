/** The output lines of a process under test. */
import { writeSync } from "node:fs";

const never = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line to standard output. It is completely in the pipe when this returns, even if nobody has read it yet. */
export function writeLine(line: string): void {
  let unwritten = Buffer.from(`${line}\n`);
  while (unwritten.length > 0) {
    try {
      unwritten = unwritten.subarray(writeSync(1, unwritten));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      // Standard output is a non-blocking pipe; it is full while the test is busy elsewhere.
      Atomics.wait(never, 0, 0, 1);
    }
  }
}
