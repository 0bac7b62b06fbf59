/** Bytes of request bodies held at this moment over all requests, so that memory is bounded under any number of clients. */
export class ByteBudget {
  readonly bytesMax: number;
  bytesHeld = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** False, and nothing taken, where it would go beyond the cap. */
  take(bytes: number): boolean {
    if (this.bytesHeld + bytes > this.bytesMax) return false;
    this.bytesHeld += bytes;
    return true;
  }

  give(bytes: number): void {
    this.bytesHeld -= bytes;
  }
}
