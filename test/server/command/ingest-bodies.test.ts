/** How `svc ingest` sends bodies: to servers that fail, that are older, that are far away, behind proxies. */

import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { lines, type Running } from "../running.ts";
import { countStored, dir, rows, server, start, svc, write } from "./command-setting.ts";
import { standBefore } from "./front-server.ts";
import { runSvc, startSvc } from "./program.ts";

describe("svc ingest", () => {
  test("batches that fail for a while are sent again until they are taken, and stored once", async () => {
    const file = write("retry", lines(rows(20_000).map((row) => ({ ...row, pad: "x".repeat(400) }))));
    const between = await failingServer(server, 4);
    const { code, out, err } = await ingestAt(between.url, file);
    between.close();
    expect([code, out]).toEqual([0, expect.stringContaining("0 refused")]);
    expect(out).toMatch(/20,000 rows taken|were there already/);
    expect(err).toContain("trying again");
    expect(countStored()).toBe(20_000);
  }, 60_000);

  test("a server that breaks the first connection and is not ready at the second is asked again", async () => {
    let asked = 0;
    const between = await standBefore(server, {
      before: (request, response) => {
        if (!request.url!.endsWith("/limits")) return undefined;
        asked++;
        if (asked === 1) return request.socket.destroy();
        return asked === 2 ? response.writeHead(503).end('{"error":"not ready"}') : undefined;
      },
    });
    const { code, out, err } = await ingestAt(between.url, write("early", lines(rows(5))));
    between.close();
    expect([code, out]).toEqual([0, expect.stringContaining("5 rows taken, 0 refused")]);
    expect(err).toMatch(/^cannot talk to .*; trying again\nnot ready; trying again\n$/);
    expect(asked).toBe(3);
  });

  test("Ctrl-C ends a command that waits for a server", async () => {
    const asked = Promise.withResolvers<void>();
    const silent = await standBefore(server, {
      before: (request) => {
        if (!request.url!.endsWith("/limits")) return undefined;
        asked.resolve();
        return true;
      },
    });
    const started = startSvc(["ingest", "--url", silent.url, write("waits", lines(rows(5)))], { cwd: dir });
    await asked.promise;
    started.child.kill("SIGINT");
    const { code, err } = await started.ended;
    silent.close();
    expect([code, err]).toEqual([130, ""]);
  });

  test("a server that does not know of pieces gets each batch by itself", async () => {
    const bodies: [bytes: number, key: string | undefined, pieces: unknown][] = [];
    const older = await standBefore(server, {
      before: (request, response, body) => {
        if (request.url!.endsWith("/limits")) return response.writeHead(404).end('{"error":"no such path"}');
        if (request.method === "POST")
          bodies.push([
            body.length,
            request.headers["idempotency-key"] as string,
            request.headers["idempotency-keys"],
          ]);
        return undefined;
      },
    });
    const { code, out } = await ingestAt(older.url, write("some", padded(20_000)));
    older.close();
    expect([code, out]).toEqual([0, expect.stringContaining("20,000 rows taken, 0 refused")]);
    expect(bodies.length).toBeGreaterThan(3);
    for (const [bytes, key, pieces] of bodies) {
      expect(bytes).toBeLessThanOrEqual(2 * 2 ** 20);
      expect([key?.length, pieces]).toEqual([43, undefined]);
    }
  });

  test("the first body is small, so that there is progress to show, and later ones are large", async () => {
    const sizes: number[] = [];
    const between = await standBefore(server, {
      before: ({ method }, _response, body) => void (method === "POST" && sizes.push(body.length)),
    });
    const { code, out } = await ingestAt(between.url, write("much", padded(150_000)));
    between.close();
    expect([code, out]).toEqual([0, expect.stringContaining("150,000 rows taken, 0 refused")]);
    expect(sizes[0]).toBeLessThanOrEqual(8 * 2 ** 20);
    expect(Math.max(...sizes)).toBeGreaterThan(12 * 2 ** 20);
    expect(countStored()).toBe(150_000);
  });

  test("over a slow connection the first body goes alone", async () => {
    const seen: ("comes" | "answered")[] = [];
    const slow = await standBefore(server, {
      read: ({ method }) => {
        if (method !== "POST") return undefined;
        seen.push("comes");
        return seen.length === 1 ? sleep(1_000) : undefined;
      },
      after: ({ method }) => void (method === "POST" && seen.push("answered")),
    });
    const { out } = await ingestAt(slow.url, write("slowly", padded(100_000)));
    slow.close();
    expect(out).toContain("100,000 rows taken, 0 refused");
    expect(seen.slice(0, 3)).toEqual(["comes", "answered", "comes"]);
    expect(seen.length).toBeGreaterThan(4);
  });

  test("where the first body is refused over a slow connection, nothing else is sent", async () => {
    let bodies = 0;
    const strict = await standBefore(server, {
      read: ({ method }) => (method === "POST" && ++bodies === 1 ? sleep(1_000) : undefined),
      before: ({ method }, response) =>
        method === "POST" ? response.writeHead(401).end('{"error":"no such token"}') : undefined,
    });
    const { code, err } = await ingestAt(strict.url, write("refused", padded(100_000)));
    strict.close();
    expect([code, bodies]).toEqual([1, 1]);
    expect(err).toContain("no such token");
  });

  test("over a fast connection others follow the first body before it is answered", async () => {
    let hasFollowed = false;
    // A machine that has much else to do may make the connection slow.
    for (let tries = 0; tries < 3 && !hasFollowed; tries++) {
      const second = Promise.withResolvers<boolean>();
      let bodies = 0;
      const fast = await standBefore(server, {
        read: ({ method }) => void (method === "POST" && ++bodies === 2 && second.resolve(true)),
        after: async ({ method }) => {
          if (method === "POST")
            hasFollowed = await Promise.race([second.promise, sleep(2_000, hasFollowed)]);
        },
      });
      const { out } = await ingestAt(fast.url, write(`fast${tries}`, padded(100_000, tries * 100_000)));
      fast.close();
      expect(out).toContain("100,000 rows taken, 0 refused");
    }
    expect(hasFollowed).toBe(true);
  });

  test.each([413, 408])(
    "bodies that are answered with %d are divided, and a file that was sent in large ones adds nothing",
    async (status) => {
      const bad = `${padded(15_000)}oops\n${padded(5_000, 15_000)}`;
      const file = write("large", bad);
      const first = await svc("ingest", file);
      expect(first.out).toContain("20,000 rows taken, 1 refused");
      expect(first.out).toContain("  line 15001: not JSON");
      const sizes: number[] = [];
      let refused = 0;
      const proxy = await standBefore(server, {
        before: (request, response, body) => {
          if (request.method !== "POST") return undefined;
          if (body.length > 3_000_000) {
            refused++;
            return response.writeHead(status).end("<html>too large, or too slow</html>");
          }
          sizes.push(body.length);
          return undefined;
        },
      });
      const second = await ingestAt(proxy.url, file);
      const third = await ingestAt(proxy.url, write("other", padded(20_000, 20_000)));
      proxy.close();
      expect(second.out).toContain("0 rows taken, 20,000 were there already, 1 refused");
      expect(second.out).toContain("  line 15001: not JSON");
      expect([third.code, third.out]).toEqual([0, expect.stringContaining("20,000 rows taken, 0 refused")]);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * 2 ** 20);
      // Each run learns once how much is too large, but for bodies that are on their way together.
      expect(refused).toBeGreaterThanOrEqual(2);
      expect(refused).toBeLessThanOrEqual(6);
      expect(countStored()).toBe(40_000);
    },
  );

  test.each([
    ["1 MiB", 2 ** 20, true],
    ["20 kB", 20_000, true],
    ["1 MiB, before a server that does not know of pieces,", 2 ** 20, false],
  ])(
    "a proxy that takes %s gets batches in parts, and the same parts again",
    async (_, bytesMax, knowsPieces) => {
      const long = { timestamp: start, message: "long", pad: "x".repeat(1_500_000) };
      const file = write(
        "parts",
        `${padded(5_000)}oops\n${padded(1_000, 5_000)}${lines([long])}${padded(300, 6_000)}`,
      );
      const sizes: number[] = [];
      let refused = 0;
      const proxy = await standBefore(server, {
        before: ({ method, url }, response, body) => {
          if (!knowsPieces && url!.endsWith("/limits")) return response.writeHead(404).end("{}");
          if (method !== "POST") return undefined;
          if (body.length <= bytesMax) return void sizes.push(body.length);
          refused++;
          return response.writeHead(413).end("<html>too large</html>");
        },
      });
      const first = await ingestAt(proxy.url, file);
      const refusedFirst = refused;
      const second = await ingestAt(proxy.url, file);
      proxy.close();
      expect([first.code, withoutProgress(first.err)]).toEqual([1, ""]);
      expect(first.out).toContain("6,300 rows taken, 2 refused");
      expect(first.out).toContain("  line 5001: not JSON");
      expect(first.out).toMatch(
        / {2}line 6002: its 15000\d\d bytes are too much for the server, or for a proxy/,
      );
      expect(second.out).toContain("0 rows taken, 6,300 were there already, 2 refused");
      expect(countStored()).toBe(6_300);
      // The size is learned once, but for bodies that are on their way together.
      expect(refusedFirst).toBeLessThanOrEqual(12);
      // Parts go together as far as the proxy takes them.
      if (knowsPieces) expect(sizes.length / 2).toBeLessThan((6_000_000 / bytesMax) * 4);
    },
  );

  test("a proxy that takes nothing at all is an error", async () => {
    const proxy = await standBefore(server, {
      before: ({ method }, response) => (method === "POST" ? response.writeHead(413).end("no") : undefined),
    });
    const { code, err } = await ingestAt(proxy.url, write("nothing", padded(10_000)));
    proxy.close();
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("stopped after 0 rows: the server answered 413"),
    ]);
    expect(countStored()).toBe(0);
  });
});

/** What a command said but for its progress, which it tells every five seconds on a slow machine. */
const withoutProgress = (err: string) => err.replace(/^.* MB read, .*\n/gm, "");
const ingestAt = (url: string, file: string) =>
  runSvc(["ingest", file, "--url", url, "--data", server.dir], { cwd: dir });
/** Lines of more than 400 bytes. */
const padded = (n: number, from = 0) => lines(rows(n, from).map((row) => ({ ...row, pad: "x".repeat(400) })));

/** `failures` times in turn: says 503, says 429, breaks off before, breaks off after the server has answered. */
function failingServer(behind: Running, failures: number) {
  let left = failures;
  const breaksAfter = new Set<IncomingMessage>();
  return standBefore(behind, {
    before: (request, response) => {
      if (request.method !== "POST" || left === 0) return undefined;
      const kind = left-- % 4;
      if (kind === 0) return response.writeHead(503, { "Retry-After": "0" }).end('{"error":"busy"}');
      if (kind === 1) return response.writeHead(429).end('{"error":"slow down"}');
      if (kind === 2) return request.socket.destroy();
      breaksAfter.add(request);
      return undefined;
    },
    after: (request) => (breaksAfter.has(request) ? request.socket.destroy() : undefined),
  });
}
