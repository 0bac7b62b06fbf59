/** The syslog part: a listener on a port of its own, where one is configured. */

import type { Part } from "../../api/part.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import type { IngestPart } from "../part.ts";
import type { MessageListener } from "../socket/message-listener.ts";
import { listenSyslog } from "./listener.ts";

export interface SyslogSettings {
  /** Where to listen, over TCP and UDP; undefined: nowhere. */
  syslogAddress?: { host: string; port: number } | undefined;
  log: (level: "error", message: string) => void;
}

export interface SyslogPart extends Part {
  /** The port in use; undefined where none is configured, and before the part runs. */
  readonly port: number | undefined;
}

/** `bytesHeldMax`: what messages may take that are incomplete or wait. */
export function syslogPart(
  { syslogAddress, log }: SyslogSettings,
  { intake }: Pick<IngestPart, "intake">,
  bytesHeldMax: number,
  metrics: Metrics,
): SyslogPart {
  let listener: MessageListener | undefined;
  return {
    get port() {
      return listener?.port;
    },
    run: async () => {
      if (syslogAddress === undefined) return;
      const logError = (message: string) => log("error", message);
      listener = await listenSyslog({ address: syslogAddress, bytesHeldMax, intake, metrics, log: logError });
    },
    close: async () => listener?.close(),
  };
}
