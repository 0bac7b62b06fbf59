import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const betweenMs = 1;

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
