/** Lines that a process under test says. */
import { writeSync } from "node:fs";

const never = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line to standard output at once; it is out whole when this returns, however late the other end reads. */
export function writeLine(line: string): void {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      // Standard output is a pipe that does not block, and it is full while a test is busy elsewhere.
      Atomics.wait(never, 0, 0, 1);
    }
  }
}
