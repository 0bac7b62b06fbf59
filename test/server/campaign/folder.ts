/** The folder that a campaign works in. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function campaignFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `svc-${name}-`));
}
