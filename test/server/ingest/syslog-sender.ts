/** Sends numbered syslog messages over TCP, which has no acknowledgement. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const betweenMs = 1;

/** A port that is free just now. Tests that restart a server on the same port need to know it beforehand. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Sends messages over one connection, numbered from 0 in `syslog.msgid`, until `isOver` or the connection breaks. */
export async function sendSyslog(port: number, service: string, isOver: () => boolean): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  // The connection breaks when the server is killed.
  socket.on("error", () => undefined);
  const startMs = Date.now() - 60_000;
  for (let number = 0; !isOver() && !socket.destroyed; number++) {
    const time = new Date(startMs + number).toISOString();
    socket.write(`<14>1 ${time} host ${service} - ${number} - message ${number}\n`);
    await sleep(betweenMs);
  }
  socket.destroy();
}
