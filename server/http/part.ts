/** The http part of the server: the sockets that serve all routes, over HTTP and, where they have a method, over gRPC. */

import type { MemoryBudget } from "../../engine/index.ts";
import { isLoopbackName } from "../access/request-origin.ts";
import { withDocumentation } from "../api/documentation.ts";
import type { Part } from "../api/part.ts";
import type { Route } from "../api/route.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { openGrpc } from "./grpc/server.ts";
import { drainMsMax } from "./limits.ts";
import { makeRequestBounds } from "./request-bounds.ts";
import { type HttpOptions, type HttpServer, openHttp } from "./server.ts";
import { findListenProblem, type ListenAddress } from "./sockets.ts";

export interface HttpSettings {
  address: ListenAddress;
  /** Where to listen for gRPC; undefined: nowhere. `isOptional`: where that is not possible, a warning is enough. */
  grpcAddress?: (ListenAddress & { isOptional: boolean }) | undefined;
  log: (level: "warn" | "error", message: string) => void;
}

export interface HttpPart extends Part {
  /** The port that the server listens on, once the part runs. */
  readonly port: number;
  /** The port for gRPC, once the part runs; undefined where nothing listens. */
  readonly grpcPort: number | undefined;
}

interface HttpNeeds extends Pick<ControlPart, "accessRules" | "audit"> {
  metrics: Metrics;
  memory: MemoryBudget;
  /** Why nothing should be sent to this server now; null where it is ready. */
  notReady: () => string | null;
}

/** `routes` is called when the part runs. */
export function httpPart(
  { address, grpcAddress, log }: HttpSettings,
  { accessRules, audit, metrics, memory, notReady }: HttpNeeds,
  routes: () => readonly Route[],
): HttpPart {
  let server: HttpServer | undefined;
  let grpc: HttpServer | undefined;
  return {
    get port() {
      return server?.port ?? address.port;
    },
    get grpcPort() {
      return grpc?.port;
    },
    run: async () => {
      const options: Omit<HttpOptions, "address"> = {
        routes: withDocumentation(routes()),
        access: accessRules,
        bounds: makeRequestBounds(memory),
        onRefused: (request) => audit.recordRefusal(request),
        metrics,
        log: (message) => log("error", message),
      };
      server = await openHttp({ ...options, address });
      if (grpcAddress === undefined) return;
      const problem = await findListenProblem(grpcAddress, "--otlp-grpc");
      if (problem === undefined) {
        // Nobody reads over gRPC, so the rules about reading without a token do not matter.
        const access = { ...accessRules, onLoopback: isLoopbackName(grpcAddress.host) };
        grpc = await openGrpc({ ...options, access, address: grpcAddress, notReady });
      } else if (grpcAddress.isOptional) log("warn", `no OTLP over gRPC is taken: ${problem}`);
      else throw new Error(problem);
    },
    close: async () => {
      await Promise.all([server?.close(drainMsMax), grpc?.close(drainMsMax)]);
    },
  };
}
