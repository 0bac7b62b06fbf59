/** `npm run charts`: writes the files of the charts that are made of the sources. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crdManifests } from "../resources/crd-manifests.ts";

for (const [path, text] of crdManifests()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`${path}\n`);
}
