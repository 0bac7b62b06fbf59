/** `svc serve`, from start to stop. */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Started } from "./program.ts";
import { runSvc, startSvc } from "./program.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-serve-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const free = ["--listen", "127.0.0.1:0", "--scan-threads", "1"];

/** A server in a process, and its address. */
async function startServe(
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Started & { url: string }> {
  const started = startSvc(["serve", ...words], { env, cwd: dir });
  const out = await started.printed("admin token:");
  return { ...started, url: /listens on (\S+)/.exec(out)![1]! };
}

describe("start and stop", () => {
  test("says where it listens, where its data is and where the admin token is", async () => {
    const data = join(dir, "says");
    const server = await startServe([...free, "--memory", "512MiB", "--data", "says"]);
    server.child.kill("SIGTERM");
    const { out, code } = await server.ended;
    expect(code).toBe(0);
    expect(out).toMatch(/^svc listens on http:\/\/127\.0\.0\.1:\d+\n/);
    expect(out).toContain(`data folder: ${data}\n`);
    expect(out).toMatch(/^memory: 512 MiB: program \d+ MiB, .*; 1 scan, 1 encoder, 1 decoder threads$/m);
    expect(out).toContain(
      `admin token: ${data}/admin-token (made by this start, readable by its owner alone)\n`,
    );
    expect(out).toMatch(/svc has stopped\n$/);
    expect(statSync(join(data, "admin-token")).mode & 0o777).toBe(0o600);
  });

  test("a stop that does not end is broken off", () => {
    const limit = join(import.meta.dirname, "../../../server/command/stop-signal.ts");
    const program = `const { limitStop } = await import(${JSON.stringify(limit)});
      limitStop(300);
      setInterval(() => undefined, 1_000);`;
    const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      timeout: 20_000,
      killSignal: "SIGTERM",
    });
    expect(signal).toBe("SIGKILL");
    expect(stderr).toContain(
      "the stop took longer than 0.3 s and was broken off; what is acknowledged is kept",
    );
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s under load loses nothing that was acknowledged",
    async (signal) => {
      const data = join(dir, signal);
      const server = await startServe([...free, "--data", data]);
      const token = readFileSync(join(data, "admin-token"), "utf8").trim();
      let acknowledged = 0;
      let stopping = false;
      const send = async (client: number) => {
        for (let i = 0; !stopping || i === 0; i++) {
          const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/x-ndjson" };
          const body = `{"message":"row ${client} ${i}"}\n`;
          try {
            const got = await fetch(`${server.url}/api/v1/ingest/logs`, { method: "POST", headers, body });
            if (got.status === 200) acknowledged++;
            await got.text();
          } catch {
            // The server has stopped listening: this row was not acknowledged.
            return;
          }
        }
      };
      const clients = Array.from({ length: 8 }, (_, client) => send(client));
      await new Promise((resolve) => setTimeout(resolve, 300));
      server.child.kill(signal);
      const { code } = await server.ended;
      stopping = true;
      await Promise.all(clients);
      expect(code).toBe(0);
      expect(acknowledged).toBeGreaterThan(0);
      const again = await startServe([...free, "--data", data]);
      const counted = await runSvc(["query", "row", "--limit", "100000", "--json", "--url", again.url]);
      again.child.kill("SIGTERM");
      const messages = counted.out
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { message: string }).message);
      expect(new Set(messages).size).toBe(messages.length);
      expect(messages.length).toBeGreaterThanOrEqual(acknowledged);
      await again.ended;
    },
    30_000,
  );

  test("a request that is being answered is answered before the end", async () => {
    const server = await startServe([...free, "--data", "answered"]);
    const token = readFileSync(join(dir, "answered/admin-token"), "utf8").trim();
    const rows = Array.from(
      { length: 3_000 },
      (_, i) => `{"message":"row ${i}","k":"${"v".repeat(100)}"}\n`,
    ).join("");
    const sent = request(`${server.url}/api/v1/ingest/logs`, {
      method: "POST",
      headers: { Authorization: token, "Content-Type": "text/plain" },
    });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    sent.end(rows);
    await once(sent, "finish");
    // What lay before the server when this is answered has been read.
    await fetch(`${server.url}/health`);
    await fetch(`${server.url}/health`);
    server.child.kill("SIGTERM");
    const [response] = await answered;
    expect(await json(response)).toMatchObject({ accepted: 3_000 });
    expect((await server.ended).code).toBe(0);
  });
});

describe("what cannot be used is said in one sentence, exit code 1", () => {
  const refused = async (words: readonly string[], env: Record<string, string> = {}) => {
    const { code, out, err } = await runSvc(["serve", ...words], { cwd: dir, env });
    expect([code, out]).toEqual([1, ""]);
    expect(err.trim().split("\n")).toHaveLength(1);
    return err;
  };

  test("a port in use", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const err = await refused(["--listen", `127.0.0.1:${port}`, "--data", "port"]);
    expect(err).toBe(
      `svc: 127.0.0.1:${port} is in use: stop the program that listens there, or choose another with --listen HOST:PORT\n`,
    );
    other.close();
  });

  test("a port for gRPC that is in use; by default the server then goes without", async () => {
    const other = createServer();
    const port = 4317;
    // Where another program listens there already, that is as well.
    await new Promise((resolve) =>
      other.once("error", resolve).listen(port, "127.0.0.1", () => resolve(null)),
    );
    const err = await refused([...free, "--otlp-grpc", `127.0.0.1:${port}`, "--data", "grpc"]);
    expect(err).toBe(
      `svc: 127.0.0.1:${port} is in use: stop the program that listens there, or choose another with --otlp-grpc HOST:PORT\n`,
    );
    // Of its own: `startSvc` gives every server a free port.
    const without = startSvc(["serve", ...free, "--data", "without"], {
      cwd: dir,
      wrapper: ["env", "-u", "SVC_OTLP_GRPC"],
    });
    expect(await without.printed("admin token:")).not.toContain("gRPC");
    without.child.kill("SIGTERM");
    expect((await without.ended).err).toContain(`no OTLP over gRPC is taken: 127.0.0.1:${port} is in use`);
    other.close();
  });

  test("an address of another machine", async () => {
    expect(await refused(["--listen", "192.0.2.1:8080", "--data", "address"])).toContain(
      "is not an address of this machine",
    );
  });

  test("a folder that another server has open", async () => {
    const server = await startServe([...free, "--data", "locked"]);
    const err = await refused([...free, "--data", "locked"]);
    expect(err).toContain(`in use by process ${server.child.pid}`);
    server.child.kill("SIGTERM");
    await server.ended;
  });

  test("a folder below a file, and a file", async () => {
    writeFileSync(join(dir, "file"), "");
    for (const data of [join(dir, "file/data"), join(dir, "file")]) {
      const err = await refused([...free, "--data", data]);
      expect(err).toBe(`svc: the data folder ${data} cannot be used: a part of its path is a file\n`);
    }
  });

  test.runIf(existsSync("/sys/kernel"))("a folder that cannot be written", async () => {
    const err = await refused([...free, "--data", "/sys/svc-data"]);
    expect(err).toBe("svc: the data folder /sys/svc-data cannot be used: this user may not write there\n");
  });

  test("a folder of another format", async () => {
    const data = join(dir, "other");
    const server = await startServe([...free, "--data", data]);
    server.child.kill("SIGTERM");
    await server.ended;
    writeFileSync(join(data, "format"), '{"name":"svc","format":999}');
    expect(await refused([...free, "--data", data])).toMatch(/format/);
  });
});

describe("settings", () => {
  test("a variable holds several values of a flag in as many lines", async () => {
    const env = { SVC_KIND: "alerts\ndashbords\n" };
    const { code, err } = await runSvc(["export-manifests"], { cwd: dir, env });
    expect([code, err]).toEqual([2, expect.stringContaining('got "dashbords"')]);
  });

  test("flags are stronger than the environment, the environment than the file", async () => {
    const file = join(dir, "svc.yaml");
    writeFileSync(file, "listen: 127.0.0.1:0\ndata: from-file\nscan-threads: 1\nretention: 30d\n");
    const folderOf = async (words: string[], env: Record<string, string>) => {
      const server = await startServe(words, env);
      server.child.kill("SIGTERM");
      return /data folder: (.*)/.exec((await server.ended).out)![1];
    };
    expect(await folderOf(["--config", file], {})).toBe(join(dir, "from-file"));
    expect(await folderOf([], { SVC_CONFIG: file, SVC_DATA: "from-environment" })).toBe(
      join(dir, "from-environment"),
    );
    expect(await folderOf(["--data", "from-flag"], { SVC_CONFIG: file, SVC_DATA: "x" })).toBe(
      join(dir, "from-flag"),
    );
  }, 20_000);

  const age = "must be an age such as 30d, 12h or 90m";
  test.each<[string[], Record<string, string>, string | null, string]>([
    [["--retenton", "30d"], {}, null, "unknown flag --retenton; did you mean --retention?"],
    [["--retention=30"], {}, null, `--retention ${age}, got "30"`],
    [["--retention", "-5d"], {}, null, `--retention ${age}, got "-5d"`],
    [["--retention"], {}, null, "--retention needs a value: --retention AGE"],
    [["--retention", "--data"], {}, null, "--retention needs a value: --retention AGE"],
    [
      ["--retention-bytes", "10 apples"],
      {},
      null,
      '--retention-bytes must be a size such as 10GiB or 500MB, got "10 apples"',
    ],
    [["--memory", "much"], {}, null, '--memory must be a size such as 10GiB or 500MB, got "much"'],
    [["--memory", "64MB"], {}, null, '--memory must be a size of 440MiB or more, got "64MB"'],
    [[], { SVC_MEMORY: "0.3GiB" }, null, 'SVC_MEMORY must be a size of 440MiB or more, got "0.3GiB"'],
    [["--listen", "8080"], {}, null, '--listen must be HOST:PORT such as 127.0.0.1:8080, got "8080"'],
    [
      ["--listen", "localhost:99999"],
      {},
      null,
      '--listen must be HOST:PORT such as 127.0.0.1:8080, got "localhost:99999"',
    ],
    [
      ["--otlp-grpc", "on"],
      {},
      null,
      '--otlp-grpc must be HOST:PORT such as 127.0.0.1:4317, or off, got "on"',
    ],
    [["--scan-threads", "0"], {}, null, '--scan-threads must be an integer from 1 to 256, got "0"'],
    [["--anonymous-read=perhaps"], {}, null, '--anonymous-read must be true or false, got "perhaps"'],
    [["-d", "x"], {}, null, "unknown flag -d; did you mean --data?"],
    [["data"], {}, null, 'serve takes no "data": the folder goes after --data'],
    [[], { SVC_RETENTION: "soon" }, null, `SVC_RETENTION ${age}, got "soon"`],
    [
      [],
      { SVC_RETENSION: "30d" },
      null,
      "unknown environment variable SVC_RETENSION; did you mean SVC_RETENTION?",
    ],
    [[], {}, "retenion: 30d", "unknown setting retenion in svc.yaml; did you mean retention?"],
    [[], {}, "retention: soon", `retention in svc.yaml ${age}, got "soon"`],
    [[], {}, "retention: [a, {b: c}]", "retention in svc.yaml must be text or a number"],
    [[], {}, "- a", "svc.yaml must hold one setting a line, such as `listen: 127.0.0.1:8080`"],
    [[], {}, "a: b: c", "the configuration file svc.yaml is not YAML: "],
    [["--config", "none.yaml"], {}, null, "the configuration file none.yaml cannot be read (ENOENT)"],
  ])("%j %j %j is refused", async (words, env, yaml, error) => {
    const folder = mkdtempSync(join(dir, "wrong-"));
    if (yaml !== null) writeFileSync(join(folder, "svc.yaml"), yaml);
    const config = yaml === null ? [] : ["--config", "svc.yaml"];
    const got = await runSvc(["serve", ...config, ...words], { env, cwd: folder });
    expect([got.code, got.out]).toEqual([2, ""]);
    expect(got.err).toContain(`svc: ${error}`);
    expect(got.err.trim().split("\n")).toHaveLength(1);
  });

  test("flags that say which rows are taken hold for the rows that are sent", async () => {
    const data = join(dir, "admission");
    const limits = ["--row-bytes-max", "2KiB", "--accept-past", "1d", "--accept-future", "1h"];
    const server = await startServe([...free, ...limits, "--data", data]);
    const token = readFileSync(join(data, "admin-token"), "utf8").trim();
    const send = async (row: Record<string, unknown>) => {
      const got = await fetch(`${server.url}/api/v1/ingest/logs`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/x-ndjson" },
        body: `${JSON.stringify(row)}\n`,
      });
      return got.status;
    };
    const now = Date.now();
    expect(await send({ message: "fits", timestamp: now })).toBe(200);
    expect(await send({ message: "x".repeat(3_000), timestamp: now })).toBe(400);
    expect(await send({ message: "old", timestamp: now - 2 * 86_400_000 })).toBe(400);
    expect(await send({ message: "ahead", timestamp: now + 2 * 3_600_000 })).toBe(400);
    server.child.kill("SIGTERM");
    await server.ended;
  });

  test("variables that Kubernetes sets for a Service named svc are no settings", async () => {
    const env = {
      SVC_SERVICE_HOST: "10.0.0.1",
      SVC_SERVICE_PORT: "8080",
      SVC_SERVICE_PORT_HTTP: "8080",
      SVC_PORT: "tcp://10.0.0.1:8080",
      SVC_PORT_8080_TCP: "tcp://10.0.0.1:8080",
      SVC_PORT_8080_TCP_ADDR: "10.0.0.1",
      SVC_HEADLESS_SERVICE_HOST: "10.0.0.2",
    };
    const server = await startServe([...free, "--data", "kubernetes"], env);
    server.child.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });
});

describe("help", () => {
  test("svc help lists the commands", async () => {
    for (const words of [[], ["help"], ["--help"]]) {
      const { code, out } = await runSvc(words);
      expect(code).toBe(0);
      for (const name of ["serve", "ingest", "query", "stats", "token", "verify"])
        expect(out).toContain(`svc ${name}`);
    }
  });

  test("svc help serve lists every flag with its default and its variable", async () => {
    const { out } = await runSvc(["help", "serve"]);
    expect(out).toMatch(/--data DIR +the data folder \(default: \.\/data\) \[SVC_DATA\]/);
    expect(out).toMatch(/--listen HOST:PORT +.*\(default: 127\.0\.0\.1:8080\) \[SVC_LISTEN\]/);
    expect(out).toMatch(/--retention AGE +.*\(default: everything is kept\) \[SVC_RETENTION\]/);
    expect((await runSvc(["serve", "--help"])).out).toBe(out);
  });

  test("an unknown command is refused with the nearest one", async () => {
    const { code, err } = await runSvc(["qeury"]);
    expect([code, err]).toEqual([
      2,
      'svc: there is no command "qeury"; did you mean query? (svc help lists them)\n',
    ]);
  });

  test("svc version prints it", async () => {
    const { version } = JSON.parse(
      readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"),
    ) as {
      version: string;
    };
    expect((await runSvc(["version"])).out).toBe(`svc ${version}\n`);
  });
});
