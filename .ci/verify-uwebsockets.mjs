#!/usr/bin/env node
// Compares the installed binaries of uWebSockets.js, which come from npm republications (@uwsjs), with the author's own
// release by SHA-256. `--author DIR` reads the author's files from DIR/TAG/NAME instead of GitHub.
// Exit code: 0 all equal, 1 one differs, 2 one could not be compared.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

/** The aliases of package.json, and the author's tag that each republishes. */
const tags = { "uwebsockets-new": "v20.69.0", "uwebsockets-old": "v20.51.0" };
const release = "https://raw.githubusercontent.com/uNetworking/uWebSockets.js";
const fetchMsMax = 120_000;

const { platform, arch, versions } = process;
const name = `uws_${platform}_${arch}_${versions.modules}.node`;
const binaryPackage = `@uwsjs/${platform}-${arch}-${versions.node.split(".")[0]}`;
const authorFolder = process.argv[2] === "--author" ? process.argv[3] : undefined;

async function readInstalled(alias) {
  const core = createRequire(import.meta.url).resolve(alias);
  return readFile(createRequire(core).resolve(`${binaryPackage}/uws.node`));
}

async function readAuthors(tag) {
  if (authorFolder !== undefined) return readFile(join(authorFolder, tag, name));
  const answer = await fetch(`${release}/${tag}/${name}`, { signal: AbortSignal.timeout(fetchMsMax) });
  if (!answer.ok) throw new Error(`${answer.url} answers ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function compare(alias, tag) {
  const what = `${alias} (${binaryPackage}) and ${tag}/${name}`;
  try {
    const [ours, authors] = [digest(await readInstalled(alias)), digest(await readAuthors(tag))];
    console.log(
      ours === authors ? `equal: ${what}: ${ours}` : `DIFFERENT: ${what}: ${ours}, author's ${authors}`,
    );
    return ours === authors ? 0 : 1;
  } catch (error) {
    console.log(`not compared: ${what}: ${error.message.split("\n", 1)[0]}`);
    return 2;
  }
}

const results = [];
for (const [alias, tag] of Object.entries(tags)) results.push(await compare(alias, tag));
process.exitCode = results.includes(1) ? 1 : Math.max(...results);
