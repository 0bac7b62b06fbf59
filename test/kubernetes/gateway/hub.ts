/** A hub that takes OTLP bodies, and fails, hangs or refuses on demand. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { zstdDecompressSync } from "node:zlib";

interface HubRequest {
  path: string;
  key: string;
  token: string;
  body: Buffer;
}

/** What the hub does with a request: a status, no answer, or an answer that gets lost after the body was taken. */
type HubDeed = number | "hang" | "cut" | "lost";

export interface Hub {
  url: URL;
  /** Bodies that were taken, one for each key. */
  taken: Map<string, HubRequest>;
  /** All requests in the order of their arrival. */
  requests: HubRequest[];
  deed: (request: HubRequest) => HubDeed;
  close(): Promise<void>;
}

export async function startHub(port = 0): Promise<Hub> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch {
      return;
    }
    const sent = Buffer.concat(chunks);
    const isPacked = request.headers["content-encoding"] === "zstd";
    const got = {
      path: request.url!,
      key: String(request.headers["idempotency-key"]),
      token: String(request.headers.authorization),
      body: isPacked ? zstdDecompressSync(sent) : sent,
    };
    hub.requests.push(got);
    const deed = hub.deed(got);
    const isTaken = deed === 200 || deed === "lost";
    if (isTaken && !hub.taken.has(got.key)) hub.taken.set(got.key, got);
    if (deed === "cut" || deed === "lost") request.socket.destroy();
    else if (deed !== "hang") {
      if (deed === 429 || deed === 503) response.setHeader("Retry-After", "0");
      response.writeHead(deed, { "Content-Type": "application/x-protobuf" }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const hub: Hub = {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    taken: new Map(),
    requests: [],
    deed: () => 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return hub;
}
