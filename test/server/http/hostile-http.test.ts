/**
 * Connections that break the rules of HTTP: each is answered with an error or closed in time, gets no answer to another
 * connection's request nor to bytes of a body, and a client beside them is always served.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Random } from "../../../fixtures/random.ts";
import { report, scaled, seed, seededRandom } from "../../durability/campaign.ts";
import { mutateBody } from "../ingest/body-mutation.ts";
import type { Running } from "../running.ts";
import { call, startServer } from "../running.ts";

const connections = scaled(600, 20_000);
/** Connections open at once. */
const lanes = 24;
/** A connection on which nothing came for this long gets its end. */
const quietMs = 60;
/** A connection that both sides ended is closed by then. */
const closeMsMax = 20_000;

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

/** What is sent on one connection. */
interface Attack {
  name: string;
  bytes: Buffer;
  /** Ids of the requests that may be answered, in order; null where the ids themselves may have been changed. */
  ids: string[] | null;
  /** Sends the bytes one by one. */
  isSlow?: boolean;
  /** Ends its side at once, and not only when nothing comes any more. */
  endsAtOnce?: boolean;
}

/** A request's head. The path has the id, and so has the answer. */
function get(id: string, headers = "", version = "HTTP/1.1"): string {
  return `GET /nothing-${id} ${version}\r\nHost: localhost\r\n${headers}\r\n`;
}

function post(id: string, headers: string, body: string): string {
  return `POST /nothing-${id} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;
}

/** Heads whose length of body two readers could understand differently; the body is a request with the second id. */
const ambiguous: Readonly<Record<string, (length: number) => string>> = {
  "both lengths": (n) => `Content-Length: ${n}\r\nTransfer-Encoding: chunked\r\n`,
  "both lengths, the other way round": (n) => `Transfer-Encoding: chunked\r\nContent-Length: ${n}\r\n`,
  "two lengths": (n) => `Content-Length: 0\r\nContent-Length: ${n}\r\n`,
  "two lengths, the other way round": (n) => `Content-Length: ${n}\r\nContent-Length: 0\r\n`,
  "a list of lengths": (n) => `Content-Length: ${n}, 0\r\n`,
  "a length with a sign": (n) => `Content-Length: +${n}\r\n`,
  "a negative length": (n) => `Content-Length: -${n}\r\n`,
  "a hexadecimal length": (n) => `Content-Length: 0x${n.toString(16)}\r\n`,
  "a length with a space": (n) => `Content-Length: ${n} 0\r\n`,
  "an empty length": () => "Content-Length:\r\n",
  "a length beyond 64 bits": () => "Content-Length: 18446744073709551616\r\n",
  "a length before a colon with a space": (n) => `Content-Length : ${n}\r\n`,
  "an unknown coding and a length": (n) => `Transfer-Encoding: xchunked\r\nContent-Length: ${n}\r\n`,
  "an unknown coding": () => "Transfer-Encoding: xchunked\r\n",
  "identity and a length": (n) => `Transfer-Encoding: identity\r\nContent-Length: ${n}\r\n`,
  "a coding with a tab": (n) => `Transfer-Encoding:\tchunked\r\nContent-Length: ${n}\r\n`,
  "a folded coding": (n) => `Transfer-Encoding:\r\n chunked\r\nContent-Length: ${n}\r\n`,
  "a coding before a colon with a space": (n) => `Transfer-Encoding : chunked\r\nContent-Length: ${n}\r\n`,
  "a coding after a bare line feed": (n) => `X: a\nTransfer-Encoding: chunked\r\nContent-Length: ${n}\r\n`,
  "a coding after a bare carriage return": (n) =>
    `X: a\rTransfer-Encoding: chunked\r\nContent-Length: ${n}\r\n`,
};

type Make = (id: string, random: Random) => Omit<Attack, "name">;
const of = (text: string, ids: Attack["ids"], more: Partial<Attack> = {}): Omit<Attack, "name"> => ({
  bytes: Buffer.from(text, "latin1"),
  ids,
  ...more,
});

const shapes: Readonly<Record<string, Make>> = {
  "one request": (id) => of(get(id), [id]),
  "requests in one piece": (id, random) => {
    const ids = Array.from({ length: 2 + random.below(30) }, (_, i) => `${id}x${i}`);
    return of(ids.map((each) => get(each)).join(""), ids);
  },
  "a request in a body": (id) => {
    const inner = get(`${id}inner`);
    return of(post(id, `Content-Length: ${inner.length}\r\n`, inner) + get(`${id}z`), [id, `${id}z`]);
  },
  "a request in a chunk": (id) => {
    const inner = get(`${id}inner`);
    const body = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    return of(post(id, "Transfer-Encoding: chunked\r\n", body), [id]);
  },
  "chunks without CRLF": (id) =>
    of(post(id, "Transfer-Encoding: chunked\r\n", "3\r\nabcXX3\r\nabc0\r\n\r\n"), [id]),
  "odd chunk sizes": (id, random) => {
    const size = random.pick(["-1", "0x3", "ffffffffffffffff", "3;a=b", " 3", "3 ", "", "g", "1".repeat(40)]);
    return of(post(id, "Transfer-Encoding: chunked\r\n", `${size}\r\nabc\r\n0\r\n\r\n`), [id]);
  },
  trailers: (id) =>
    of(post(id, "Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\nContent-Length: 5\r\n\r\n"), [id]),
  "a huge head": (id, random) => of(get(id, `X: ${"a".repeat(random.below(80_000))}\r\n`), [id]),
  "many headers": (id, random) => of(get(id, "X: a\r\n".repeat(random.below(300))), [id]),
  "a head without end": (id) => of(get(id).slice(0, -2), []),
  "half a body": (id) => of(post(id, "Content-Length: 10\r\n", "abc"), [id]),
  "more body than said": (id) => of(post(id, "Content-Length: 1\r\n", "abc\r\n\r\n"), [id]),
  "half a request at the end": (id) => of(get(id) + get(`${id}z`).slice(0, 20), [id], { endsAtOnce: true }),
  "an end at once": (id) => of(get(id), [id], { endsAtOnce: true }),
  "a byte at a time": (id) => of(get(id), [id], { isSlow: true }),
  "a body a byte at a time": (id) =>
    of(post(id, "Content-Length: 20\r\n", "a".repeat(20)), [id], { isSlow: true }),
  "Expect: 100-continue": (id) => of(post(id, "Expect: 100-continue\r\nContent-Length: 3\r\n", "abc"), [id]),
  "an unknown expectation": (id) => of(post(id, "Expect: x\r\nContent-Length: 3\r\n", "abc"), [id]),
  "an upgrade": (id, random) => {
    const kind = random.pick(["websocket", "h2c", "TLS/1.0"]);
    return of(get(id, `Connection: Upgrade\r\nUpgrade: ${kind}\r\nSec-WebSocket-Key: eA==\r\n`), [id]);
  },
  "HTTP/2": () => of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []),
  "an absolute URI": (id) =>
    of(`GET http://localhost/nothing-${id} HTTP/1.1\r\nHost: localhost\r\n\r\n`, [id]),
  "an odd target": (id, random) => {
    const target = random.pick(["*", "", "//", "nothing", "/%00", "/../..", "http://", "/\u0000", "/é"]);
    return of(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n${get(id)}`, [id]);
  },
  CONNECT: () => of("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", []),
  "an odd version": (id, random) =>
    of(get(id, "", random.pick(["HTTP/1.0", "HTTP/0.9", "HTTP/9.9", "http/1.1", "HTTP", ""])), [id]),
  "NUL bytes": (id, random) => {
    const text = get(id, "X: abc\r\n");
    const at = random.below(text.length);
    return of(`${text.slice(0, at)}\0${text.slice(at)}`, [id]);
  },
  "two hosts": (id) => of(get(id, "Host: evil\r\n"), [id]),
  "bare line feeds": (id) => of(get(id).replaceAll("\r\n", "\n"), [id]),
  "empty lines before": (id, random) => of("\r\n".repeat(random.below(50)) + get(id), [id]),
  noise: (_, random) => ({
    bytes: Buffer.from(Array.from({ length: random.below(2_000) }, () => random.below(256))),
    ids: [],
  }),
  "a changed request": (id, random) => ({
    bytes: mutateBody(Buffer.from(get(id, "A: b\r\n")), random),
    ids: null,
  }),
  "a header that is no header": (id, random) =>
    of(get(id, `${random.pick([": a", "a", "a b: c", "a\u0000: c", "(a): b", "a:b:c", " x: y"])}\r\n`), [id]),
  ...Object.fromEntries(
    Object.entries(ambiguous).map(([name, headersOf]): [string, Make] => [
      name,
      (id) => {
        const inner = `0\r\n\r\n${get(`${id}smuggled`)}`;
        return of(post(id, headersOf(inner.length), inner), [id]);
      },
    ]),
  ),
};

/** Sends an attack; returns what came back, and whether the server closed the connection in time. */
function attack({ bytes, isSlow = false, endsAtOnce = false }: Attack, random: Random) {
  const cuts = Array.from({ length: random.below(4) }, () => random.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return new Promise<{ got: string; isClosed: boolean }>((resolve) => {
    let got = "";
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
    const end = () => void socket.end();
    let quiet: NodeJS.Timeout | undefined;
    const limit = setTimeout(() => {
      socket.destroy();
      resolve({ got, isClosed: false });
    }, closeMsMax);
    const wait = () => {
      clearTimeout(quiet);
      quiet = setTimeout(end, quietMs);
    };
    socket.on("connect", async () => {
      socket.setNoDelay(true);
      const ends = isSlow ? Array.from(bytes.keys()).slice(1) : cuts;
      let from = 0;
      for (const to of [...ends, bytes.length]) {
        if (socket.destroyed) return;
        socket.write(bytes.subarray(from, to));
        from = to;
        await sleep(1);
      }
      if (endsAtOnce) end();
      else wait();
    });
    socket.on("data", (data) => {
      got += data.toString("latin1");
      if (!endsAtOnce) wait();
    });
    socket.on("end", end);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clearTimeout(limit);
      clearTimeout(quiet);
      resolve({ got, isClosed: true });
    });
  });
}

/** What is wrong with what came back; undefined where nothing is. */
function findFault(
  { ids }: Attack,
  { got, isClosed }: { got: string; isClosed: boolean },
): string | undefined {
  if (!isClosed) return "not closed";
  const statuses = [...got.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
  if (got !== "" && !got.startsWith("HTTP/1.1 ")) return "not HTTP";
  if (statuses.some((status) => status === 500 || status === 503)) return "a fault of the server";
  const answered = [...got.matchAll(/nothing at \\?"(?:[^"\\]*\/)?nothing-(\w+)/g)].map(([, id]) => id!);
  let next = 0;
  for (const id of ids === null ? [] : answered) {
    const at = ids!.indexOf(id, next);
    if (at < 0) return `an answer to ${id}`;
    next = at + 1;
  }
  if (/\bat .+:\d+:\d+/.test(got)) return "a stack trace";
  return undefined;
}

test(
  `hostile connections are answered or closed (SVC_SEED=${seed})`,
  async () => {
    const random = seededRandom("hostile HTTP");
    const names = Object.keys(shapes);
    const counts = { tried: 0, answered: 0, refused: 0, closed: 0, failed: 0 };
    const faults: string[] = [];
    let isOver = false;
    const lane = async () => {
      while (counts.tried < connections) {
        // Every shape comes before the first comes again.
        const name = names[counts.tried % names.length]!;
        const sent = { name, ...shapes[name]!(`r${counts.tried++}`, random) };
        const back = await attack(sent, random);
        const fault = findFault(sent, back);
        if (fault !== undefined) {
          counts.failed++;
          faults.push(
            `${name}: ${fault}; ${JSON.stringify(sent.bytes.toString("latin1").slice(0, 300))} ${back.got.slice(0, 600)}`,
          );
        } else if (back.got === "") counts.closed++;
        else if (back.got.includes("nothing at")) counts.answered++;
        else counts.refused++;
      }
    };
    const honest: { status: number; ms: number }[] = [];
    const serveHonest = async () => {
      while (!isOver) {
        const beganMs = performance.now();
        const { status, json } = await call(server, `/nothing-honest${honest.length}`);
        const isOwn = String(json.error).includes(`"/nothing-honest${honest.length}"`);
        honest.push({ status: isOwn ? status : 0, ms: performance.now() - beganMs });
        await sleep(5);
      }
    };
    const serving = serveHonest();
    await Promise.all(Array.from({ length: lanes }, lane)).finally(() => {
      isOver = true;
    });
    await serving;
    const { tried, answered, refused, closed, failed } = counts;
    report(
      `hostile HTTP: tried ${tried}, answered ${answered}, refused ${refused}, closed ${closed}, failed ${failed}`,
    );
    const slowest = Math.max(...honest.map(({ ms }) => ms));
    report(`honest requests beside them: ${honest.length}, slowest ${Math.round(slowest)} ms`);
    expect(faults.slice(0, 20)).toEqual([]);
    expect(honest.filter(({ status }) => status !== 404)).toEqual([]);
    expect(slowest).toBeLessThan(5_000);
    // Nothing is left of them.
    await expect
      .poll(() => call(server, "/metrics", { token: server.adminToken }).then(({ text }) => text), {
        timeout: 20_000,
      })
      .toMatch(/^svc_http_requests_in_flight 1$/m);
  },
  scaled(120_000, 3_600_000),
);
