/** The `svc` program of a revision, as `npm start` runs it. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** The file to run of the working copy at `root`. Its bundle is made, where the revision has one and it is not up to date. */
export async function prepareProgram(root: string): Promise<string> {
  const build = join(root, "server/build-bundle.js");
  if (!existsSync(build)) return join(root, "server/main.ts");
  await promisify(execFile)(process.execPath, [build]);
  return join(root, "server/svc.js");
}
