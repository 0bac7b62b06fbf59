/**
 * The file with the templates of a day's chunks, in the folder of their partition. All that it says is in the chunks, too:
 * where it is missing or damaged, they are listed anew.
 */
import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { isDiskFull } from "../failure.ts";
import { openRegularFile } from "../files/regular-file.ts";

/** A longer file is not read: it would be listed faster than read. */
const fileBytesMax = 512 * 1024 * 1024;

/** Returns the file's content; undefined where there is none. Throws Failure "damage" where it is no regular file. */
export async function readTemplateFile(dir: string): Promise<Uint8Array | undefined> {
  const opened = await openRegularFile(pathIn(dir));
  if (opened === undefined) return undefined;
  try {
    return opened.bytes > fileBytesMax ? undefined : await opened.file.readFile();
  } finally {
    await opened.file.close();
  }
}

/**
 * Replaces the file. It is not synced: after a loss of power it may be damaged. Leaves the older one where the disk is full,
 * and writes nothing where the folder was removed.
 */
export async function writeTemplateFile(dir: string, frames: readonly Uint8Array[]): Promise<void> {
  const path = pathIn(dir);
  try {
    const file = await open(`${path}.new`, "w");
    try {
      await file.writev(frames);
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  } catch (error) {
    if (!isDiskFull(error) && (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function pathIn(dir: string): string {
  return join(dir, "templates");
}
