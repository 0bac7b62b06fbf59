/**
 * The file with the templates of a day's chunks, in the folder of their partition. All that it says is in the chunks, too:
 * where it is missing or damaged, the scan threads list the templates again.
 */
import { join } from "node:path";
import { isDiskFull } from "../failure.ts";
import { replaceFile } from "../files/folder.ts";
import { readRegularFile } from "../files/regular-file.ts";

/**
 * Returns the file's content; undefined where there is none, or it has more than `bytesMax`. Throws what the system says,
 * and Failure "damage" where it is no regular file.
 */
export async function readTemplateFile(dir: string, bytesMax: number): Promise<Uint8Array | undefined> {
  const content = await readRegularFile(pathIn(dir), bytesMax);
  return content === "too long" ? undefined : content;
}

/**
 * Replaces the file without a sync: after a loss of power it may be damaged. Leaves the older one where the disk is full, and
 * writes nothing where the folder was removed. Throws what the system says of other failures.
 */
export async function writeTemplateFile(dir: string, frames: readonly Uint8Array[]): Promise<void> {
  try {
    await replaceFile(pathIn(dir), frames, { isSynced: false, mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error) && (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function pathIn(dir: string): string {
  return join(dir, "templates");
}
