import { getSystemErrorName } from "node:util";

/** Failures that a caller can act on, by kind. The server maps each kind to a response of its own. */
export type FailureKind =
  /** The request itself is wrong. */
  | "input"
  /** A cap of limits.ts or of the caller's options was reached; the message names it. */
  | "limit"
  /** The query did not end within its deadline. */
  | "deadline"
  /** The caller aborted the query. */
  | "cancelled"
  /** The store cannot take more at present; try again later. */
  | "overload"
  /** The disk takes no more bytes. */
  | "disk-full"
  /** Stored bytes are not what was written. */
  | "damage"
  /** The data folder cannot be used: another format, or another process has it open. */
  | "folder";

/** An expected error, whose message a person can act on. Any other error is a bug, or comes from the system. */
export class Failure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.kind = kind;
  }
}

export function isDamage(error: unknown): error is Failure {
  return error instanceof Failure && error.kind === "damage";
}

/** Message of Failure "disk-full". */
export const diskFullMessage = "the disk is full: free some space or set --retention-bytes; searches go on";

/** Returns whether an error of the operating system means that the disk or the quota is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/**
 * A failed write as a Failure that a sender can be answered with: "disk-full", or "overload" for another error of the
 * system, such as an I/O error. `what` names what could not be written. Returns undefined for an error that is a bug.
 */
export function toWriteFailure(error: unknown, what: string): Failure | undefined {
  if (error instanceof Failure) return error;
  if (isDiskFull(error)) return new Failure("disk-full", diskFullMessage, { cause: error });
  const { code } = error as { code?: string | number };
  if (code === undefined) return undefined;
  // LMDB's errors have the number of the system's error.
  const name = typeof code === "number" && code > 0 ? getSystemErrorName(-code) : code;
  return new Failure("overload", `${what} could not be written (${name}); try again`, { cause: error });
}

/** Waits for a write that is useful but not necessary: on a full disk it is skipped without an error. */
export async function unlessFull(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    const isFull = error instanceof Failure ? error.kind === "disk-full" : isDiskFull(error);
    if (!isFull) throw error;
  }
}
