/**
 * The file with the templates of a day's chunks, in the folder of their partition. All that it says is in the chunks, too:
 * where it is missing or damaged, they are listed anew.
 */
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDiskFull } from "../failure.ts";
import { openRegularFile } from "../files/regular-file.ts";

/**
 * Returns the file's content; undefined where there is none, or it has more than `bytesMax`. Throws what the system says,
 * and Failure "damage" where it is no regular file.
 */
export async function readTemplateFile(dir: string, bytesMax: number): Promise<Uint8Array | undefined> {
  const opened = await openRegularFile(pathIn(dir));
  if (opened === undefined) return undefined;
  try {
    return opened.bytes > bytesMax ? undefined : await opened.file.readFile();
  } finally {
    await opened.file.close();
  }
}

/**
 * Replaces the file. It is not synced: after a loss of power it may be damaged. Leaves the older one where the disk is full,
 * and writes nothing where the folder was removed. Throws what the system says of other failures.
 */
export async function writeTemplateFile(dir: string, frames: readonly Uint8Array[]): Promise<void> {
  const path = pathIn(dir);
  const next = `${path}.new`;
  try {
    const file = await open(next, "w", 0o600);
    let written = 0;
    try {
      ({ bytesWritten: written } = await file.writev(frames));
    } finally {
      await file.close();
    }
    // The rest of a short write found no room.
    if (written === frames.reduce((sum, { byteLength }) => sum + byteLength, 0)) await rename(next, path);
    else await rm(next, { force: true });
  } catch (error) {
    await rm(next, { force: true });
    if (!isDiskFull(error) && (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function pathIn(dir: string): string {
  return join(dir, "templates");
}
