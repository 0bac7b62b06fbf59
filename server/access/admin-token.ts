/** The file in the data folder that holds the first admin token. */

import { chmod, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Tokens } from "./tokens.ts";
import { mintToken } from "./tokens.ts";

export const adminTokenFile = "admin-token";

/**
 * Where no valid admin token exists, makes one and writes it to the data folder, readable by its owner alone. The file
 * is written before the record: should the process die in between, the next start makes another token.
 */
export async function ensureAdminToken(
  tokens: Tokens,
  dataDir: string,
  nowMs: number,
): Promise<"made" | "there"> {
  if (tokens.hasAdmin) return "there";
  const { record, token } = mintToken({ name: "admin-token file", role: "admin", expiresAtMs: null }, nowMs);
  await writeSecret(join(dataDir, adminTokenFile), `${token}\n`);
  await tokens.add(record);
  return "made";
}

async function writeSecret(path: string, text: string): Promise<void> {
  const newPath = `${path}.new`;
  const file = await open(newPath, "w", 0o600);
  try {
    // open() applies its mode to new files only.
    await chmod(newPath, 0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(newPath, path);
}
