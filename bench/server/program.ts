/** The `svc` program of a revision and its layers, as `npm start` runs them. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** The file to run of the working copy at `root`. Its bundle is made, where the revision has one and it is not up to date. */
export async function prepareProgram(root: string): Promise<string> {
  const build = join(root, "server/build-bundle.js");
  if (!existsSync(build)) return join(root, "server/main.ts");
  await promisify(execFile)(process.execPath, [build]);
  return join(root, "server/svc.js");
}

/** The file with the public face of a layer: in the bundle, where the revision bundles it. */
export async function prepareFace(root: string, layer: string): Promise<string> {
  const source = join(root, layer, "index.ts");
  const finder = join(root, "server/bundle.js");
  if (!existsSync(finder)) return source;
  await prepareProgram(root);
  const { findBundle } = (await import(pathToFileURL(finder).href)) as {
    findBundle: (root: string) => string | undefined;
  };
  const bundledMain = findBundle(root);
  const bundled = bundledMain && join(dirname(bundledMain), "..", layer, "index.js");
  return bundled !== undefined && existsSync(bundled) ? bundled : source;
}
