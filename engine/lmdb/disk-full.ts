/** Recognises that a write failed because the disk is full. */

import { statfsSync } from "node:fs";
import { diskFullMessage, Failure } from "../failure.ts";
import type { Changes } from "./commit-size.ts";

/** Error codes of Node, and LMDB's error numbers, of a disk that takes no more bytes. */
const diskFullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG", 28, 122, 27]);
/** LMDB reports EIO where the system wrote fewer bytes than asked, as on a full disk. */
const ioErrorCode = 5;

/** Returns Failure "disk-full" where that was the error's cause, else the error itself. */
export function toDiskFullFailure(error: unknown, dir: string, changes: Changes): unknown {
  const code = (error as { code?: string | number }).code;
  let bytes = 0;
  for (const { value } of changes.values()) bytes += value?.length ?? 0;
  const isFull = code !== undefined && diskFullCodes.has(code);
  if (!isFull && !(code === ioErrorCode && freeBytes(dir) < bytes + 2 ** 20)) return error;
  return new Failure("disk-full", diskFullMessage, { cause: error });
}

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
