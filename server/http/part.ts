/** The http part of the server: the sockets that serve all routes. */

import { withDocumentation } from "../api/documentation.ts";
import type { Part } from "../api/part.ts";
import type { Route } from "../api/route.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { drainMsMax } from "./limits.ts";
import { type HttpServer, openHttp } from "./server.ts";
import type { ListenAddress } from "./sockets.ts";

export interface HttpSettings {
  address: ListenAddress;
  log: (level: "error", message: string) => void;
}

export interface HttpPart extends Part {
  /** The port that the server listens on, once the part runs. */
  readonly port: number;
}

/** `routes` is called when the part runs. */
export function httpPart(
  { address, log }: HttpSettings,
  { accessRules, audit }: Pick<ControlPart, "accessRules" | "audit">,
  metrics: Metrics,
  routes: () => readonly Route[],
): HttpPart {
  let server: HttpServer | undefined;
  return {
    get port() {
      return server?.port ?? address.port;
    },
    run: async () => {
      server = await openHttp({
        address,
        routes: withDocumentation(routes()),
        access: accessRules,
        onRefused: (request) => audit.recordRefusal(request),
        metrics,
        log: (message) => log("error", message),
      });
    },
    close: async () => server?.close(drainMsMax),
  };
}
