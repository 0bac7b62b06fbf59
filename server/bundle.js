/**
 * Finds the bundle of the program: the sources as a few files of JavaScript, so that a thread neither strips types nor
 * loads hundreds of modules. `build-bundle.js` makes it. Plain JavaScript, because this runs before any type is stripped.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Modules that start a thread, whose program stands beside them in the bundle as in the sources. */
export const startsThread = /-thread\.ts$/;

/** Where bundles lie below the top folder: one in a folder of its own, and the list of what the newest was made of. */
export const bundlesFolder = "dist/bundle";
export const listName = "newest.json";

/**
 * The path of the bundled `server/main.ts` of the sources in `root`; undefined where there is none, or where a source
 * has another byte than it was made of.
 */
export function findBundle(root) {
  try {
    const folder = join(root, bundlesFolder);
    const { inputs, digest } = JSON.parse(readFileSync(join(folder, listName), "utf8"));
    const main = join(folder, digest, "server/main.js");
    return digest === digestOf(root, inputs) && existsSync(main) ? main : undefined;
  } catch {
    // No bundle was made, or a source that it was made of is gone: the sources themselves run.
    return undefined;
  }
}

/** The folder beside a bundle in which Node keeps what V8 compiled of it, so that a start does not compile it again. */
export function codeFolderOf(bundle) {
  return join(dirname(bundle), "../compiled");
}

/** Identifies the contents of source files (paths below `root`) and the folder, which a bundle refers to. */
export function digestOf(root, inputs) {
  const hash = createHash("sha256").update(`${root}\0`);
  for (const path of inputs) {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest("hex").slice(0, 32);
}
