/** A byte budget: bytes of request bodies in memory over all requests are bounded under any number of clients. */
export class ByteBudget {
  readonly bytesMax: number;
  bytesHeld = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Returns false and takes nothing where the budget would be exceeded. */
  take(bytes: number): boolean {
    if (this.bytesHeld + bytes > this.bytesMax) return false;
    this.bytesHeld += bytes;
    return true;
  }

  /** Gives bytes back to the budget. */
  give(bytes: number): void {
    this.bytesHeld -= bytes;
  }
}
