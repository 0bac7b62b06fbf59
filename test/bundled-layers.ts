/**
 * `node --import` this: the `index.ts` of `engine`, `query` and `server` are then those of the bundle, where there is
 * one, so that a process and its threads start in half of the time.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..");
const urlOf = (...parts: string[]) => pathToFileURL(join(...parts)).href;
const { findBundle } = (await import(urlOf(root, "server/bundle.js"))) as {
  findBundle: (root: string) => string | undefined;
};
const main = findBundle(root);
const bundled = new Map<string, string>();
if (main !== undefined) {
  for (const layer of ["engine", "query", "server"]) {
    // An older bundle of the same sources may lack one.
    if (existsSync(join(dirname(main), "..", layer, "index.js")))
      bundled.set(urlOf(root, layer, "index.ts"), urlOf(dirname(main), "..", layer, "index.js"));
  }
}

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const url = bundled.get(found.url);
    return url === undefined ? found : { ...found, url, format: "module" };
  },
});
