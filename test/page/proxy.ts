/** A proxy before the server of a test that spoils answers: by turning a file away, or by breaking the connection. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

type Fault = "missing file" | "broken connection";

export interface SpoilingProxy {
  url: string;
  /** What happens to answers whose path the pattern finds; undefined where all are passed on. */
  fault: { path: RegExp; kind: Fault } | undefined;
  close(): void;
}

export async function openProxy(serverUrl: string): Promise<SpoilingProxy> {
  const server = createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const proxy: SpoilingProxy = {
    ...{ url: `http://127.0.0.1:${port}`, fault: undefined },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _, connection: __, origin: ___, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(serverUrl + request.url, {
      ...{ method: request.method!, headers: { ...headers, "accept-encoding": "identity" } },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const kind = proxy.fault?.path.test(request.url!) ? proxy.fault.kind : undefined;
    if (kind === "missing file") response.writeHead(404).end("the page has no such file");
    else {
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "application/octet-stream",
        "content-length": body.length,
      });
      if (kind === undefined) response.end(body);
      else response.write(body.subarray(0, body.length / 2), () => response.destroy());
    }
  }
  return proxy;
}
