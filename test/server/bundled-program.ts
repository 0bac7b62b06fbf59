/**
 * Bundles the program once for all tests, as `npm start` does. Programs that tests start run from the bundle, and so do
 * the threads that a store of a test starts: otherwise each of them would strip the types of hundreds of sources.
 */
import { execFileSync } from "node:child_process";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "vitest/config";

const root = resolve(import.meta.dirname, "../..");

/** A plugin by which modules that start a thread find its program in the bundle. */
export async function bundledProgram(): Promise<Plugin> {
  execFileSync(process.execPath, [join(root, "server/build-bundle.js")], { stdio: "ignore" });
  const { codeFolderOf, findBundle, startsThread } = (await import(
    pathToFileURL(join(root, "server/bundle.js")).href
  )) as {
    codeFolderOf: (bundle: string) => string;
    findBundle: (root: string) => string | undefined;
    startsThread: RegExp;
  };
  const main = findBundle(root);
  if (main === undefined) throw new Error("the program could not be bundled");
  const bundle = join(dirname(main), "..");
  process.env.NODE_COMPILE_CACHE ||= codeFolderOf(main);
  return {
    name: "threads run from the bundle",
    enforce: "pre",
    // Vitest keeps transformed modules for later runs: without this, their threads would run the bundle of an earlier one.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ id }) => (startsThread.test(id) ? bundle : undefined)),
    transform(code, id) {
      if (!startsThread.test(id)) return undefined;
      const file = join(bundle, relative(root, id).replace(/\.ts$/, ".js"));
      return code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href));
    },
  };
}
