/** An HTTP server that keeps what it was sent and answers as it is told. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export type Behaviour = number | "hang" | "reset" | ((response: ServerResponse) => void);

export interface Receiver {
  url: string;
  received: Received[];
  /** One a request; the last stays. */
  behaviours: Behaviour[];
}

export async function openReceiver(...behaviours: Behaviour[]): Promise<Receiver> {
  const receiver: Receiver = { url: "", received: [], behaviours };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    receiver.received.push({ method: request.method!, path: request.url!, headers: request.headers, body });
    const behaviour =
      receiver.behaviours.length > 1 ? receiver.behaviours.shift()! : (receiver.behaviours[0] ?? 200);
    if (behaviour === "reset") request.socket.destroy();
    else if (typeof behaviour === "function") behaviour(response);
    else if (behaviour !== "hang")
      response.writeHead(behaviour, { "Retry-After": behaviour === 429 ? "7" : [] }).end("so it is");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Behaviour {
  return (response) =>
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
}
