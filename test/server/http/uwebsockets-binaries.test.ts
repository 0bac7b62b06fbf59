/** The script that compares the installed binaries of uWebSockets.js with the author's. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const author = mkdtempSync(join(tmpdir(), "svc-uwebsockets-"));
afterAll(() => rmSync(author, { recursive: true }));

const tags = { "uwebsockets-new": "v20.69.0", "uwebsockets-old": "v20.51.0" };
const { platform, arch, versions } = process;
const name = `uws_${platform}_${arch}_${versions.modules}.node`;

function verify(): { status: number | null; lines: string[] } {
  const script = join(root, ".ci/verify-uwebsockets.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, "--author", author], { encoding: "utf8" });
  return { status, lines: stdout.trim().split("\n") };
}

test("says which binaries are equal, different and not there", () => {
  for (const [alias, tag] of Object.entries(tags)) {
    const core = createRequire(join(root, "package.json")).resolve(alias);
    const installed = createRequire(core).resolve(
      `@uwsjs/${platform}-${arch}-${versions.node.split(".")[0]}/uws.node`,
    );
    mkdirSync(join(author, tag));
    symlinkSync(installed, join(author, tag, name));
  }
  const equal = verify();
  expect(equal.lines.map((line) => line.split(":")[0])).toEqual(["equal", "equal"]);
  expect(equal.status).toBe(0);

  rmSync(join(author, "v20.51.0", name));
  const missing = verify();
  expect([missing.status, missing.lines[1]]).toEqual([
    2,
    expect.stringMatching(/^not compared: uwebsockets-old /),
  ]);

  rmSync(join(author, "v20.69.0", name));
  writeFileSync(join(author, "v20.69.0", name), "another binary");
  const different = verify();
  expect([different.status, different.lines[0]]).toEqual([
    1,
    expect.stringMatching(/^DIFFERENT: uwebsockets-new /),
  ]);
  expect(readdirSync(author).sort()).toEqual(["v20.51.0", "v20.69.0"]);
});
