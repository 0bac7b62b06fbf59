import type { Budget } from "./shared-budget.ts";

/** Bytes that senders nobody can tell apart hold together: whoever comes first takes them. */
export class ByteBudget implements Budget {
  readonly bytesMax: number;
  #bytesHeld = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  take(bytes: number): boolean {
    if (this.#bytesHeld + bytes > this.bytesMax) return false;
    this.#bytesHeld += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytesHeld -= bytes;
  }
}
