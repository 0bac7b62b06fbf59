/** The hub as the agent sees it: takes batches, drops those that it had, and fails on demand. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TailRow } from "../../../server/kubernetes/node/log-row.ts";

export type Fault = "none" | "refuse" | "take and cut off";

export class HubDouble {
  readonly #server: Server;
  readonly #keys = new Set<string>();
  batches = 0;
  duplicates = 0;

  /** `take` gets every row of a batch that is new; `fault` says what becomes of the next request. */
  constructor(take: (row: TailRow) => void, fault: () => Fault) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => undefined);
      request.on("end", () => {
        const next = fault();
        if (next === "refuse") return response.writeHead(503).end();
        const key = request.headers["idempotency-key"] as string;
        this.batches++;
        if (this.#keys.has(key)) this.duplicates++;
        else for (const line of Buffer.concat(chunks).toString().split("\n")) take(JSON.parse(line));
        this.#keys.add(key);
        return next === "none" ? response.end() : request.socket.destroy();
      });
    });
  }

  /** Returns the address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
