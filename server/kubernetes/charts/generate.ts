/** `npm run charts`: writes the files of the charts that are made of the sources. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { chartFiles } from "./chart-files.ts";

for (const [path, text] of chartFiles()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`${path}\n`);
}
