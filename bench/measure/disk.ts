import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Bytes that the files of a folder take on disk: allocated blocks, since files may have holes. */
export async function measureAllocatedBytes(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const stats = await Promise.all(files.map((entry) => stat(join(entry.parentPath, entry.name))));
  return stats.reduce((sum, { blocks }) => sum + blocks * 512, 0);
}
