/** Listens for syslog over TCP and UDP. */

import { listenForMessages, type MessageListener, type SocketOptions } from "../socket/message-listener.ts";
import { SyslogFrames } from "./frames.ts";

/** Binds both sockets. Throws an Error with one sentence where the address is not available. */
export function listenSyslog(options: Omit<SocketOptions, "protocol">): Promise<MessageListener> {
  const protocol = {
    name: "syslog",
    title: "syslog",
    format: "syslog",
    flag: "--syslog",
    makeFrames: () => new SyslogFrames(),
  } as const;
  return listenForMessages({ ...options, protocol });
}
