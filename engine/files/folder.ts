/** Files that are replaced whole or not at all, and folders that last. */
import { existsSync } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Makes the names in a folder durable. */
export async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder and those above it, each name durable when the promise resolves. One level at a time: the recursive mkdir
 * of Node 22 never ends where the system refuses with ENOENT under a folder that is there, as /proc does.
 */
export async function makeFolder(dir: string): Promise<void> {
  if (existsSync(dir)) return;
  const parent = dirname(resolve(dir));
  if (parent !== resolve(dir)) await makeFolder(parent);
  await mkdir(dir);
  await syncFolder(parent);
}

/** Replaces a file: readers, and a start after a crash, see the old content or the new one. */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.new`;
  const handle = await open(draft, "w");
  try {
    await handle.writeFile(content);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}
