/** Opening files of folders that nobody vouches for, such as a backup that came from elsewhere. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Failure } from "../failure.ts";

/** Without O_NONBLOCK, opening a named pipe would wait until somebody writes to it. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file for reading, with its length in bytes. Undefined where nothing has that name. Throws Failure "damage"
 * where it is a link, a folder, a pipe, a socket or a device.
 */
export async function openRegularFile(
  path: string,
): Promise<{ file: FileHandle; bytes: number } | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, openFlags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP") throw new Failure("damage", `${path} is a link, and none is followed`);
    // Of a socket, and of a device without a driver.
    if (code === "ENXIO" || code === "ENODEV") throw makeIrregular(path);
    throw error;
  }
  const stats = await file.stat();
  if (stats.isFile()) return { file, bytes: stats.size };
  await file.close();
  throw makeIrregular(path);
}

/**
 * Returns the content of a file: undefined if there is no file of that name, "too long" if it has more than `bytesMax` bytes.
 * Throws as `openRegularFile`.
 */
export async function readRegularFile(
  path: string,
  bytesMax: number,
): Promise<Buffer | "too long" | undefined> {
  const opened = await openRegularFile(path);
  if (opened === undefined) return undefined;
  try {
    return opened.bytes > bytesMax ? "too long" : await opened.file.readFile();
  } finally {
    await opened.file.close();
  }
}

function makeIrregular(path: string): Failure {
  return new Failure("damage", `${path} is no regular file`);
}
