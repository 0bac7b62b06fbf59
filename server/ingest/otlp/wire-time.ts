/**
 * Converts 64-bit nanoseconds since the epoch into seconds and nanoseconds without a BigInt, since every row has at
 * least one time.
 */

import type { ProtoScanner } from "../protobuf-scanner.ts";

const second = 1_000_000_000;

export class WireTime {
  seconds = 0;
  nanos = 0;

  /** Reads eight bytes; returns false for zero, which stands for no time. */
  read(scanner: ProtoScanner, end: number): boolean {
    scanner.readEightBytes(end);
    const { low, high } = scanner;
    if (low === 0 && high === 0) return false;
    // The quotient may be off by one, since a number holds 53 bits. The remainder always fits 32 bits, so it is
    // computed from the lower 32 bits and corrects the quotient.
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
