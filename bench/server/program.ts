/** The `svc` program of a revision and its layers, as `npm start` runs them. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

export type Engine = typeof import("../../engine/index.ts");
export type Query = typeof import("../../query/index.ts");

/** The file to run of the working copy at `root`. Its bundle is made, where the revision has one and it is not up to date. */
export async function prepareProgram(root: string): Promise<string> {
  const build = join(root, "server/build-bundle.js");
  if (!existsSync(build)) return join(root, "server/main.ts");
  await promisify(execFile)(process.execPath, [build]);
  return join(root, "server/svc.js");
}

/** The layers of the working copy at `root`: bundled, where the revision bundles them. */
export async function importLayers(root: string): Promise<{ engine: Engine; query: Query }> {
  const bundledMain = await findBundledMain(root);
  const load = (layer: string): Promise<unknown> => {
    const bundled = bundledMain && join(dirname(bundledMain), "..", layer, "index.js");
    const isBundled = bundled !== undefined && existsSync(bundled);
    return import(pathToFileURL(isBundled ? bundled : join(root, layer, "index.ts")).href);
  };
  return { engine: (await load("engine")) as Engine, query: (await load("query")) as Query };
}

/** Undefined for a revision that makes no bundle. */
async function findBundledMain(root: string): Promise<string | undefined> {
  const finder = join(root, "server/bundle.js");
  if (!existsSync(finder)) return undefined;
  await prepareProgram(root);
  const { findBundle } = (await import(pathToFileURL(finder).href)) as {
    findBundle: (root: string) => string | undefined;
  };
  return findBundle(root);
}
