#!/usr/bin/env node
// Plain JavaScript that every Node can read: an older one fails on TypeScript before a line of it could explain why.
import module from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18);

if (isNewEnough) {
  const { codeFolderOf, findBundle } = await import("./bundle.js");
  const bundle = findBundle(join(dirname(fileURLToPath(import.meta.url)), ".."));
  if (bundle === undefined) await import("./main.ts");
  else {
    // Threads, and the process that replaces this one, find the folder by this variable.
    process.env.NODE_COMPILE_CACHE ||= codeFolderOf(bundle);
    module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
    await import(pathToFileURL(bundle).href);
  }
} else {
  const scripts = { start: "npm start", svc: "npm run svc -- …" };
  const command = scripts[process.env.npm_lifecycle_event] ?? ["node", ...process.argv.slice(1)].join(" ");
  console.error(
    `svc needs Node 22.18 or later and this is Node ${process.versions.node}: ` +
      `run it as \`npx -y -p node@22 -- ${command}\``,
  );
  process.exitCode = 1;
}
