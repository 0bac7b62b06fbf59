/** `node server/page/build.ts`: builds the page into `dist/page`, where `svc serve` reads it. */

import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";
import { type PageFile, pageFolder, pageListName } from "./page-files.ts";

const contentTypes: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const client = join(import.meta.dirname, "client");
const root = join(import.meta.dirname, "../..");

/** Parts of the query layer that the page does not use import Node and the engine. What is left of them is refused. */
const leaveOutServer: Plugin = {
  name: "leave out the server",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^node:|\/engine\/index\.ts$/ }, ({ path }) => ({
      path,
      external: true,
      sideEffects: false,
    }));
  },
};

/** Names of the files that this build has written. */
const written = new Set<string>();
await mkdir(pageFolder, { recursive: true });
const { metafile, outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: [join(client, "main.tsx"), join(client, "style/page.css")],
  outdir: pageFolder,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2023",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [leaveOutServer],
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  metafile: true,
  write: false,
  logLevel: "warning",
});
refuseForeignImports(metafile);
const files: PageFile[] = [];
for (const { path, contents } of outputFiles) files.push(await writeAsset(basename(path), contents));
const icon = await readFile(join(client, "icon.svg"));
files.push(await writeAsset("icon.svg", icon));
await put("index.html", documentOf(metafile));
await put(pageListName, `${JSON.stringify(files, null, 2)}\n`);
for (const name of await readdir(pageFolder)) {
  // Those that begin with a dot belong to a build that runs at the same time.
  if (!written.has(name) && !name.startsWith(".")) await rm(join(pageFolder, name), { force: true });
}
const bytes = files.reduce((sum, file) => sum + file.gzipBytes, 0);
console.log(`built the page: ${files.length} files, ${(bytes / 1_000).toFixed(0)} kB with gzip`);

/** Throws where the page would import what only Node has. */
function refuseForeignImports({ outputs }: Metafile): void {
  for (const [output, { imports }] of Object.entries(outputs)) {
    const foreign = imports.filter(({ external }) => external);
    if (foreign.length === 0) continue;
    throw new Error(`${output} imports ${foreign.map(({ path }) => path).join(", ")}, which no browser has`);
  }
}

/** Writes a file as it is and compressed. */
async function writeAsset(name: string, contents: Uint8Array): Promise<PageFile> {
  const zipped = await promisify(gzip)(contents, { level: 9 });
  await put(name, contents);
  await put(`${name}.gz`, zipped);
  await put(`${name}.br`, await promisify(brotliCompress)(contents));
  return { name, contentType: contentTypes[extname(name)]!, gzipBytes: zipped.length };
}

/** Writes a file in one step: a server that starts meanwhile finds the page whole, as it was or as it is. */
async function put(name: string, contents: Uint8Array | string): Promise<void> {
  const unfinished = join(pageFolder, `.${name}.${process.pid}`);
  await writeFile(unfinished, contents);
  await rename(unfinished, join(pageFolder, name));
  written.add(name);
}

function documentOf({ outputs }: Metafile): string {
  const entries = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  const nameOf = (entryPoint: string) => {
    const [path] = entries.find(([, output]) => output.entryPoint!.endsWith(entryPoint))!;
    return `/assets/${basename(path)}`;
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${nameOf("client/style/page.css")}">
<script type="module" src="${nameOf("client/main.tsx")}"></script>
</head>
<body>
<noscript>This page needs JavaScript. The same searches work from a terminal: svc query '…'.</noscript>
</body>
</html>
`;
}
