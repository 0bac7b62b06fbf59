/** Numbered messages of syslog over TCP, which nobody acknowledges. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const betweenMs = 1;

/** A port that is free just now: a server that is started again and again needs one that is known. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Sends messages over one connection, numbered from 0 as `syslog.msgid`, until `isOver` or it breaks. */
export async function sendSyslog(port: number, service: string, isOver: () => boolean): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  // It breaks when the server is killed.
  socket.on("error", () => undefined);
  const startMs = Date.now() - 60_000;
  for (let number = 0; !isOver() && !socket.destroyed; number++) {
    const time = new Date(startMs + number).toISOString();
    socket.write(`<14>1 ${time} host ${service} - ${number} - message ${number}\n`);
    await sleep(betweenMs);
  }
  socket.destroy();
}
