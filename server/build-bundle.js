/** `node server/build-bundle.js`: bundles the program into `dist/bundle`, where `svc.js` finds it. */

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { bundlesFolder, digestOf, findBundle, listName, startsThread } from "./bundle.js";

/** The program, the programs of its threads, and the faces of the layers for whoever uses them as a library. */
const entries = [
  "server/main.ts",
  "engine/index.ts",
  "query/index.ts",
  "server/index.ts",
  "server/ingest/decode-worker.ts",
  "server/investigate/analysis/analysis-worker.ts",
  "engine/worker/worker.ts",
];
/** Older bundles that stay: a server may still run from one, and load a part of it only now. */
const olderBundlesMax = 20;

// As `svc.js` names it.
const root = realpathSync(process.argv[2] ?? join(import.meta.dirname, ".."));
const folder = join(root, bundlesFolder);

/** Where a module of the bundle says that it stands: in the sources, whose other files it reads; see `startsThread`. */
function replaceOwnPlace(path, out) {
  const sourceFile = relative(root, path);
  const file = startsThread.test(path) ? join(out, sourceFile.replace(/\.ts$/, ".js")) : path;
  const places = { url: pathToFileURL(file).href, filename: file, dirname: dirname(file) };
  return readFileSync(path, "utf8").replace(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, name) =>
    JSON.stringify(places[name]),
  );
}

/**
 * A module that exports what Node's module `name` does. An import of `node:http` reads all its names at once, and after
 * `WebSocket` and its events Node loads another client, which takes 40 ms of each start.
 */
function reexport(name) {
  const lazyNames = ["CloseEvent", "MessageEvent", "WebSocket"];
  const names = Object.keys(process.getBuiltinModule(name)).filter((each) => !lazyNames.includes(each));
  return `export const { ${names.join(", ")} } = process.getBuiltinModule("${name}");`;
}

/** Bundles as if into `out`. */
async function bundleInto(out) {
  // Where nothing is to be bundled, a start does not wait for it to load.
  const { build } = await import("esbuild");
  const plugin = {
    name: "own place, Node's http",
    setup: ({ onLoad, onResolve }) => {
      onLoad({ filter: /\.ts$/ }, ({ path }) => ({ contents: replaceOwnPlace(path, out), loader: "ts" }));
      onResolve({ filter: /^node:https?$/ }, ({ path }) => ({ path, namespace: "http" }));
      onLoad({ filter: /./, namespace: "http" }, ({ path }) => ({ contents: reexport(path) }));
    },
  };
  return build({
    ...{ absWorkingDir: root, entryPoints: entries, outdir: out, outbase: root },
    ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node22" },
    ...{ packages: "external", plugins: [plugin], metafile: true, write: false, logLevel: "warning" },
  });
}

/** Writes a file in one step: whoever reads it finds it whole. */
function put(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, contents);
  renameSync(unfinished, path);
}

function removeOldBundles(digest) {
  const ages = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== digest)
    .map(({ name }) => ({ name, ms: statSync(join(folder, name)).mtimeMs }));
  // A server that ends may be writing there what it compiled.
  for (const { name } of ages.sort((a, b) => b.ms - a.ms).slice(olderBundlesMax))
    rmSync(join(folder, name), { recursive: true, maxRetries: 3 });
}

if (findBundle(root) === undefined) {
  const first = await bundleInto(folder);
  const inputs = Object.keys(first.metafile.inputs)
    .filter((path) => !path.startsWith("http:"))
    .sort();
  const digest = digestOf(root, inputs);
  const out = join(folder, digest);
  for (const { path, contents } of (await bundleInto(out)).outputFiles) put(path, contents);
  // A source that changed meanwhile makes a bundle that is never used.
  put(join(folder, listName), `${JSON.stringify({ digest, inputs })}\n`);
  removeOldBundles(digest);
  console.log(`bundled the program: ${inputs.length} files`);
}
