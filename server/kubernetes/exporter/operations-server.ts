/** Serves /healthz, /readyz and /metrics of an exporter. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface OperationsAnswers {
  /** Why the process is not ready; undefined where it is. */
  findProblem: () => string | undefined;
  /** Prometheus text. */
  metrics: () => string;
}

export class OperationsServer {
  readonly #server: Server;

  constructor(answers: OperationsAnswers) {
    this.#server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, (request, response) => {
      const [status, text] = answer(request.url ?? "", answers);
      response.writeHead(status, { "Content-Type": "text/plain; version=0.0.4", Connection: "close" });
      response.end(request.method === "HEAD" ? undefined : text);
    });
    this.#server.maxConnections = 64;
  }

  async listen({ host, port }: { host: string; port: number }): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  close(): void {
    this.#server.close();
  }
}

function answer(url: string, { findProblem, metrics }: OperationsAnswers): [number, string] {
  const [path] = url.split("?", 1);
  if (path === "/healthz") return [200, "ok\n"];
  if (path === "/metrics") return [200, metrics()];
  if (path !== "/readyz") return [404, "there are /healthz, /readyz and /metrics\n"];
  const problem = findProblem();
  return problem === undefined ? [200, "ok\n"] : [503, `${problem}\n`];
}
