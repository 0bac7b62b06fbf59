/** The part for Fluent's forward protocol: a listener on a port of its own, where one is configured. */

import type { Part } from "../../api/part.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { IngestPart } from "../part.ts";
import { type FluentListener, listenFluent } from "./listener.ts";

export interface FluentSettings {
  /** Where to listen over TCP; undefined: nowhere. */
  fluentAddress?: { host: string; port: number } | undefined;
  /** The key that senders must have; undefined: whoever reaches the port may send. */
  fluentKey?: string | undefined;
  log: (level: "error", message: string) => void;
}

export interface FluentPart extends Part {
  /** The port in use; undefined where none is configured, and before the part runs. */
  readonly port: number | undefined;
}

/** `bytesHeldMax`: what messages may take that are incomplete or being stored. */
export function fluentPart(
  { fluentAddress, fluentKey, log }: FluentSettings,
  { intake }: Pick<IngestPart, "intake">,
  bytesHeldMax: number,
  metrics: Metrics,
): FluentPart {
  let listener: FluentListener | undefined;
  return {
    get port() {
      return listener?.port;
    },
    run: async () => {
      if (fluentAddress === undefined) return;
      const logError = (message: string) => log("error", message);
      const options = {
        address: fluentAddress,
        key: fluentKey,
        bytesHeldMax,
        intake,
        metrics,
        log: logError,
      };
      listener = await listenFluent(options);
    },
    close: async () => listener?.close(),
  };
}
