/** The part for GELF over TCP and UDP: a listener on a port of its own, where one is configured. */

import type { Part } from "../../api/part.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { IngestPart } from "../part.ts";
import { listenForMessages, type MessageListener } from "../socket/message-listener.ts";
import { ChunkJoiner } from "./chunks.ts";
import { GelfFrames } from "./frames.ts";

export interface GelfSettings {
  /** Where to listen, over TCP and UDP; undefined: nowhere. */
  gelfAddress?: { host: string; port: number } | undefined;
  log: (level: "error", message: string) => void;
}

export interface GelfPart extends Part {
  /** The port in use; undefined where none is configured, and before the part runs. */
  readonly port: number | undefined;
}

/** `bytesHeldMax`: what messages may take that are incomplete or wait. */
export function gelfPart(
  { gelfAddress, log }: GelfSettings,
  { intake }: Pick<IngestPart, "intake">,
  bytesHeldMax: number,
  metrics: Metrics,
): GelfPart {
  let listener: MessageListener | undefined;
  return {
    get port() {
      return listener?.port;
    },
    run: async () => {
      if (gelfAddress === undefined) return;
      const joiner = new ChunkJoiner(() => performance.now());
      const protocol = {
        name: "gelf",
        title: "GELF",
        format: "gelf messages",
        flag: "--gelf",
        makeFrames: () => new GelfFrames(),
        join: (datagram: Buffer) => joiner.add(datagram),
      } as const;
      const logError = (message: string) => log("error", message);
      const options = { protocol, address: gelfAddress, bytesHeldMax, intake, metrics, log: logError };
      listener = await listenForMessages(options);
    },
    close: async () => listener?.close(),
  };
}
