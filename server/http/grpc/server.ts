/** Listens for gRPC over HTTP/2 without TLS, and hands each call to the transport. */

import { createServer, type Http2Server, type IncomingHttpHeaders } from "node:http2";
import type { Route } from "../../api/route.ts";
import {
  grpcConnectionsMax,
  grpcLingerMs,
  grpcStreamsMax,
  grpcWindowBytesOfStream,
  headBytesReadMax,
  headersMax,
} from "../limits.ts";
import type { HttpOptions, HttpServer } from "../server.ts";
import { makeTransport } from "../transport.ts";
import { GrpcCall, grpcType, toHead } from "./call.ts";
import { Connections } from "./connections.ts";
import { healthRoute } from "./health.ts";
import { grpcStatusName } from "./status.ts";

export interface GrpcOptions extends HttpOptions {
  /** Why nothing should be sent to this server now; null where it is ready. */
  notReady: () => string | null;
}

/**
 * Starts listening for the routes that have a `grpcMethod`. Rejects with Node's error where the address is not
 * available.
 */
export async function openGrpc(options: GrpcOptions): Promise<HttpServer> {
  const { address, metrics, routes, notReady, ...rest } = options;
  const transport = makeTransport({
    ...rest,
    routes: grpcRoutes(routes, notReady),
    requests: metrics.counter("svc_grpc_requests_total", "Calls of gRPC answered, by method and status."),
    nameStatus: grpcStatusName,
    errorBody: ({ message }) => ({ contentType: grpcType, body: message }),
  });
  const connections = new Connections();
  metrics.gauge(
    "svc_grpc_requests_in_flight",
    "Calls of gRPC being answered.",
    () => transport.inFlight.size,
  );
  metrics.gauge("svc_grpc_connections", "Connections of gRPC.", () => connections.count);
  const server = makeServer();
  server.on("session", (session) => connections.add(session));
  // Bytes that are not HTTP/2: the library closes the connection.
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => {
    const client = connections.addStream(stream);
    const status = refusedStatus(headers);
    const head = toHead(headers, client);
    const call = new GrpcCall(stream, head);
    if (status === undefined) return void transport.serve(head, call);
    call.refuseRequest(status);
  });
  const port = await listenAt(server, address);
  return {
    port,
    close: async (drainMs) => {
      server.close();
      connections.announceEnd();
      await transport.drain(drainMs);
      await connections.close(grpcLingerMs);
    },
  };
}

/** The routes by the paths of their methods. */
function grpcRoutes(routes: readonly Route[], notReady: () => string | null): Route[] {
  const methods = routes.flatMap((route) =>
    route.grpcMethod === undefined ? [] : [{ ...route, path: `/${route.grpcMethod}` }],
  );
  const services = new Set(methods.map(({ path }) => path.slice(1, path.lastIndexOf("/"))));
  return [...methods, healthRoute(services, notReady)];
}

function makeServer(): Http2Server {
  const server = createServer({
    // Four of them are the pseudo headers.
    maxHeaderListPairs: headersMax + 4,
    settings: {
      maxConcurrentStreams: grpcStreamsMax,
      initialWindowSize: grpcWindowBytesOfStream,
      maxHeaderListSize: headBytesReadMax,
    },
  });
  server.maxConnections = grpcConnectionsMax;
  return server;
}

/** The HTTP status for a request that is not one of gRPC; undefined for a call. */
function refusedStatus(headers: IncomingHttpHeaders): number | undefined {
  if (headers[":method"] !== "POST") return 405;
  const type = String(headers["content-type"] ?? "")
    .split(";", 1)[0]!
    .trim();
  return type === grpcType || type === `${grpcType}+proto` ? undefined : 415;
}

function listenAt(server: Http2Server, { host, port }: HttpOptions["address"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}
