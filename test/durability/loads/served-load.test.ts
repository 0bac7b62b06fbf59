/**
 * `svc ingest` sends a file to a server that is killed while it takes bodies in pieces, and begins anew with other memory,
 * so that the same pieces come in other bodies. The client tries again by itself, or is killed, too, and begun again. Each
 * line is stored once.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { type Started, startSvc } from "../../server/command/program.ts";
import { findFreePort } from "../../server/free-port.ts";
import { report, scaled, seededRandom, temporaryFolder } from "../campaign.ts";
import { bytesIn, checkRows, countsIn, lines, memories, writeLines } from "./lines.ts";

const kills = 3;

test("a load into a server that is killed again and again stores each line once", async () => {
  const random = seededRandom("served load");
  const folder = temporaryFolder();
  const file = writeLines(folder);
  for (let round = 0; round < scaled(1, 15); round++) {
    const dir = join(folder, `data-${round}`);
    const port = await findFreePort();
    const serve = async (): Promise<Started> => {
      const memory = memories[random.below(memories.length)]!;
      const listen = ["--listen", `127.0.0.1:${port}`];
      const server = startSvc(["serve", "--data", dir, "--memory", memory, ...listen]);
      await server.printed("admin token:");
      return server;
    };
    let server = await serve();
    const token = readFileSync(join(dir, "admin-token"), "utf8").trim();
    const send = () => startSvc(["ingest", "--url", `http://127.0.0.1:${port}`, "--token", token, file]);
    let client = send();
    let clientsKilled = 0;
    for (let run = 0; run < kills; run++) {
      const grownBytes = bytesIn(dir) + 1 + random.below(1_500_000);
      while (client.child.exitCode === null && bytesIn(dir) < grownBytes) await sleep(2);
      await sleep(random.below(10));
      server.child.kill("SIGKILL");
      if (random.oneIn(2) && client.child.kill("SIGKILL")) clientsKilled++;
      await server.ended;
      server = await serve();
      if (client.child.killed) client = send();
    }
    let first = await client.ended;
    // A client that finds no server when it begins says so at once.
    if (first.code !== 0 && first.err.includes("nothing listens")) first = await send().ended;
    const { code, out } = await send().ended;
    server.child.kill("SIGTERM");
    await server.ended;
    expect(first.code, first.err).toBe(0);
    expect({ code, counts: countsIn(out) }).toEqual({ code: 0, counts: { taken: 0, before: lines } });
    report(
      `served load: killed ${kills} servers and ${clientsKilled} clients; ${countsIn(first.out)?.taken} rows last`,
    );
    await checkRows(dir);
    rmSync(dir, { recursive: true });
  }
}, 900_000);
