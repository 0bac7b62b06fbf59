/** Files of a data folder that are outside the store and belong into a backup. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BackupFile } from "../../engine/index.ts";
import { adminTokenFile } from "../access/admin-token.ts";

export async function readFilesBesideStore(dataDir: string): Promise<BackupFile[]> {
  const path = join(dataDir, adminTokenFile);
  return existsSync(path) ? [{ name: adminTokenFile, bytes: await readFile(path) }] : [];
}
