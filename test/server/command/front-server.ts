/** A server in front of another, which a test tells what to do with requests. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { call, type Running } from "../running.ts";

type Body = Uint8Array<ArrayBuffer>;

interface Intervention {
  /** Awaited before the body of a request is read. */
  read?: (request: IncomingMessage) => unknown;
  /** What is done with a request instead of passing it on; undefined passes it on. */
  before?: (request: IncomingMessage, response: ServerResponse, body: Body) => unknown;
  /** What is done instead of passing the answer on; undefined passes it on. */
  after?: (request: IncomingMessage, response: ServerResponse) => unknown;
}

export async function standBefore(behind: Running, { read, before, after }: Intervention) {
  const front = createServer(async (request, response) => {
    await read?.(request);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = new Uint8Array(Buffer.concat(chunks));
    if ((await before?.(request, response, body)) !== undefined) return;
    const headers = { ...request.headers } as Record<string, string>;
    for (const name of ["host", "connection", "content-length", "transfer-encoding"]) delete headers[name];
    const got = await call(behind, request.url!, {
      method: request.method!,
      headers,
      ...(body.length > 0 ? { body } : {}),
    });
    if ((await after?.(request, response)) === undefined) response.writeHead(got.status).end(got.text);
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`, close: () => front.close() };
}
