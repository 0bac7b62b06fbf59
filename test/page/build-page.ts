/** Builds the page once for all tests that open it. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";

export default function buildPage(): void {
  execFileSync(process.execPath, ["--no-warnings", join(import.meta.dirname, "../../server/page/build.ts")]);
}
