/** What a pod makes unreadable on its node is skipped, and the logs of all others go on. */

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogTail } from "../../../server/kubernetes/node/log-tail.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-unreadable-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const line = (text: string) => `2026-01-29T08:42:00.000000000Z stdout F ${text}\n`;

function makeContainer(pod: string): string {
  const folder = join(dir, "pods", pod, "app");
  mkdirSync(folder, { recursive: true });
  return folder;
}

test("a log that is a link to itself is skipped with one warning", async () => {
  const bad = makeContainer("tenant_b-1_0b");
  const good = makeContainer("shop_cart-1_0a");
  symlinkSync("0.log", join(bad, "0.log"));
  // The name that it leads to is too long.
  symlinkSync("x".repeat(300), join(bad, "1.log"));
  const messages: string[] = [];
  const warnings: string[] = [];
  const tail = new LogTail({
    folder: join(dir, "pods"),
    stateFolder: join(dir, "state"),
    node: "n",
    sink: async ({ rows }) => void messages.push(...rows.map(({ message }) => message)),
    pods: () => ({ service: "s", labels: {}, workload: {} }),
    warn: (message) => void warnings.push(message),
    elapsed: () => performance.now(),
    ...{ pollMs: 5, batchMs: 5 },
  });
  const running = tail.run();
  try {
    for (let i = 0; i < 3; i++) {
      appendFileSync(join(good, "0.log"), line(`of the good pod ${i}`));
      // Each file of the bad pod changes its folder, which is then read again.
      writeFileSync(join(bad, `${i + 2}.log`), line(`of the bad pod ${i}`));
      const wanted = [`of the good pod ${i}`, `of the bad pod ${i}`];
      await Promise.race([
        running,
        expect.poll(() => messages, { timeout: 10_000 }).toEqual(expect.arrayContaining(wanted)),
      ]);
    }
    expect(warnings.map((warning) => /[0-9]\.log is skipped: E[A-Z]+/.exec(warning)?.[0]).sort()).toEqual([
      "0.log is skipped: ELOOP",
      "1.log is skipped: ENAMETOOLONG",
    ]);
  } finally {
    tail.close();
  }
  await running;
});
