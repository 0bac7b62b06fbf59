/** What stands in a data folder beside the store and belongs into a backup of it. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BackupFile } from "../../engine/index.ts";
import { adminTokenFile } from "../access/admin-token.ts";

export async function readFilesBesideStore(dataDir: string): Promise<BackupFile[]> {
  const path = join(dataDir, adminTokenFile);
  return existsSync(path) ? [{ name: adminTokenFile, bytes: await readFile(path) }] : [];
}
