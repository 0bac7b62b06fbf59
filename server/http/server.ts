/** The HTTP server: listens, and hands each request to the transport. */

import type { AccessRules } from "../access/authentication.ts";
import type { Route } from "../api/route.ts";
import type { RefusedRequest } from "../control/audit.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { Exchange, hasUnknownCoding, readHead } from "./exchange.ts";
import type { RequestBounds } from "./request-bounds.ts";
import type { ListenAddress } from "./sockets.ts";
import { listen } from "./sockets.ts";
import { makeTransport } from "./transport.ts";

export interface HttpOptions {
  address: ListenAddress;
  routes: readonly Route[];
  access: AccessRules;
  bounds: RequestBounds;
  metrics: Metrics;
  /** Called for requests that were refused with 401, 403 or 429. */
  onRefused: (request: RefusedRequest) => void;
  log: (message: string) => void;
}

export interface HttpServer {
  /** The port that the server listens on. Where the options ask for port 0, it is the one that the system chose. */
  port: number;
  /** Accepts no more requests, lets those in flight finish within `drainMs`, then closes every connection. */
  close(drainMs: number): Promise<void>;
}

/** Starts listening. Throws an Error of one sentence where the address is not available. */
export async function openHttp({ address, metrics, ...options }: HttpOptions): Promise<HttpServer> {
  const transport = makeTransport({
    ...options,
    requests: metrics.counter("svc_http_requests_total", "HTTP requests answered, by route and status."),
    nameStatus: String,
  });
  const { bodyBytes } = options.bounds;
  metrics.gauge(
    "svc_http_requests_in_flight",
    "HTTP requests being answered.",
    () => transport.inFlight.size,
  );
  metrics.gauge("svc_http_body_bytes_held", "Bytes of request bodies held.", () => bodyBytes.total);
  const listener = await listen(address, (res, req) => {
    const head = readHead(res, req);
    // An answer would leave the connection open for the requests that the body may hold.
    if (hasUnknownCoding(head)) return void res.close();
    void transport.serve(head, new Exchange(res, head));
  });
  return {
    port: listener.port,
    close: async (drainMs) => {
      listener.stopListening();
      await transport.drain(drainMs);
      listener.closeAll();
    },
  };
}
