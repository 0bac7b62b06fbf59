/** Nanoseconds since the epoch, as 64 bits, become whole seconds and nanoseconds without a BigInt: each row has one or more. */

import type { ProtoScanner } from "../protobuf-scanner.ts";

const second = 1_000_000_000;

export class WireTime {
  seconds = 0;
  nanos = 0;

  /** Reads eight bytes; false where they are zero, which stands for no time. */
  read(scanner: ProtoScanner, end: number): boolean {
    scanner.readEightBytes(end);
    const { low, high } = scanner;
    if (low === 0 && high === 0) return false;
    // Off by one at most, since a number holds 53 bits; the lower 32 bits of the rest tell, as the rest has fewer.
    let seconds = Math.floor(((high >>> 0) * 2 ** 32 + (low >>> 0)) / second);
    let nanos = (low - Math.imul(seconds, second)) | 0;
    if (nanos < 0) {
      seconds--;
      nanos += second;
    } else if (nanos >= second) {
      seconds++;
      nanos -= second;
    }
    this.seconds = seconds;
    this.nanos = nanos;
    return true;
  }
}
