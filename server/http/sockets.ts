/** The binding to uWebSockets.js: loads a build and listens. No other file imports the library. */

import { createServer } from "node:net";
import type { HttpRequest, HttpResponse, us_listen_socket } from "uwebsockets-old";
import { headBytesReadMax } from "./limits.ts";

export type { HttpRequest, HttpResponse };

/** The functions of the library that are used; its own typings lack `listen` with host and options, which it has. */
interface Sockets {
  App(): App;
  us_listen_socket_close(token: us_listen_socket): void;
  us_socket_local_port(token: us_listen_socket): number;
}

interface App {
  any(pattern: string, answer: (res: HttpResponse, req: HttpRequest) => void): App;
  listen(host: string, port: number, options: number, done: (token: us_listen_socket | false) => void): App;
  close(): App;
}

/** Builds of the same library, newest first: the newer one needs a newer glibc, the older one an older Node. */
const builds = ["uwebsockets-new", "uwebsockets-old"] as const;

export interface ListenAddress {
  host: string;
  /** 0: any free one. */
  port: number;
}

export interface Listener {
  port: number;
  /** Accepts no more connections; open ones stay. */
  stopListening(): void;
  /** Closes every connection at once. */
  closeAll(): void;
}

/**
 * The default options of `listen`. The exclusive option would refuse a port for a minute after the server stopped with
 * connections open, since it does without SO_REUSEADDR. By default, on the other hand, two servers can share one port,
 * each getting some of the requests: `findListenProblem` finds the other one first.
 */
const shareable = 0;

/** Throws an Error of one sentence where no build runs on this platform, or the address is not available. */
export async function listen(
  address: ListenAddress,
  onRequest: (res: HttpResponse, req: HttpRequest) => void,
): Promise<Listener> {
  const sockets = await loadSockets();
  const app = sockets.App().any("/*", onRequest);
  const problem = await findListenProblem(address, "--listen");
  const token =
    problem === undefined &&
    (await new Promise<us_listen_socket | false>((resolve) => {
      app.listen(address.host, address.port, shareable, resolve);
    }));
  if (token === false) {
    app.close();
    throw new Error(problem ?? `cannot listen on ${address.host}:${address.port}`);
  }
  return {
    port: sockets.us_socket_local_port(token),
    stopListening: () => sockets.us_listen_socket_close(token),
    closeAll: () => void app.close(),
  };
}

async function loadSockets(): Promise<Sockets> {
  // The library reads this variable once, when it loads.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(headBytesReadMax);
  const reasons: string[] = [];
  for (const build of builds) {
    try {
      const loaded = (await import(build)) as { default: Sockets };
      return loaded.default;
    } catch (error) {
      const lines = error instanceof Error ? error.message.trim().split("\n") : [String(error)];
      reasons.push(lines.at(-1) ?? "");
    }
  }
  throw new Error(
    `no build of uWebSockets.js runs on ${process.platform} ${process.arch} with Node ${process.versions.node}: ` +
      "use Node 22 on Linux (glibc 2.27 or later) or macOS, 64 bit, and where another Node ran the installation, install " +
      `again with \`npx -y -p node@22 -- npm install\` (${reasons.join("; ")})`,
  );
}

/**
 * Why nobody can listen at an address, as Node's own sockets have it: uWebSockets.js gives no reasons. `flag` is the
 * setting that names the address.
 */
export function findListenProblem(address: ListenAddress, flag: string): Promise<string | undefined> {
  const where = `${address.host}:${address.port}`;
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(listenProblem(where, flag, error.code)));
    probe.listen(address.port, address.host, () => {
      probe.close(() => resolve(undefined));
    });
  });
}

function listenProblem(where: string, flag: string, code: string | undefined): string {
  switch (code) {
    case "EADDRINUSE":
      return `${where} is in use: stop the program that listens there, or choose another with ${flag} HOST:PORT`;
    case "EACCES":
      return `not allowed to listen on ${where}: ports below 1024 need more rights; choose another with ${flag}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${where} is not an address of this machine: give one with ${flag} HOST:PORT`;
    default:
      return `cannot listen on ${where} (${code ?? "unknown reason"})`;
  }
}
