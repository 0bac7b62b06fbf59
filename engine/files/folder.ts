/** Durable folders, and files that are replaced atomically. */
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Makes the folder's list of names durable, such as after a file was created, renamed or removed in it. */
export async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder and its missing parents. All their names are durable when the promise resolves. It works one level at
 * a time, because the recursive mkdir of Node 22 never returns where an existing folder, such as /proc, refuses with
 * ENOENT.
 */
export async function makeFolder(dir: string): Promise<void> {
  if (existsSync(dir)) return;
  const parent = dirname(resolve(dir));
  if (parent !== resolve(dir)) await makeFolder(parent);
  await mkdir(dir);
  await syncFolder(parent);
}

/** How a file is replaced. */
interface ReplaceOptions {
  /** False: after a loss of power the file may be damaged. */
  isSynced?: boolean;
  /** Permissions of the file, which the process's umask restricts. */
  mode?: number | undefined;
}

/**
 * Replaces a file atomically and durably: readers, and a start after a crash, see either the old content or the new
 * one. Where it fails, the unfinished copy is removed, so that it takes no room on a full disk.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array | readonly Uint8Array[],
  { isSynced = true, mode }: ReplaceOptions = {},
): Promise<void> {
  const temporary = `${path}.new`;
  try {
    await writeFile(temporary, content, { isSynced, mode });
    await rename(temporary, path);
  } catch (error) {
    // The caller has to hear of the failure above, whether the copy can be removed or not.
    await Promise.allSettled([rm(temporary, { force: true })]);
    throw error;
  }
  if (isSynced) await syncFolder(dirname(path));
}

async function writeFile(
  path: string,
  content: string | Uint8Array | readonly Uint8Array[],
  { isSynced, mode }: ReplaceOptions,
): Promise<void> {
  const handle = await open(path, "w", mode);
  try {
    await handle.writeFile(content);
    if (isSynced) await handle.datasync();
  } finally {
    await handle.close();
  }
}
