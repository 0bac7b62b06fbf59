/** What a caller can act on, by kind: the edge maps each kind to an answer of its own. */
export type FailureKind =
  /** The request itself is wrong. */
  | "input"
  /** A cap in limits.ts or in the caller's options was reached; the message names it. */
  | "limit"
  | "deadline"
  | "cancelled"
  /** The store cannot take more just now; try again later. */
  | "overload"
  /** The disk takes no more bytes. */
  | "disk-full"
  /** Stored bytes are not what was written. */
  | "damage"
  /** The data folder cannot be used: another format, or another process has it open. */
  | "folder";

export class Failure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.kind = kind;
  }
}

export const diskFullMessage = "the disk is full: free some space or set --retention-bytes; searches go on";

/** Whether the system refused a write for want of space. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Waits for a write that is good to have but not needed: on a full disk it is left out. */
export async function unlessFull(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    const isFull = error instanceof Failure ? error.kind === "disk-full" : isDiskFull(error);
    if (!isFull) throw error;
  }
}
