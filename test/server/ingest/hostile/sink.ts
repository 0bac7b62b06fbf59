/**
 * A server that answers every request with 400 and reads nothing of its body. It tells its address to the process that
 * started it, and ends with it.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** About what the tested server takes for a hostile body, so that the sender is as busy as beside that one. */
const answerAfterMs = 8;

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () =>
    setTimeout(() => {
      response.writeHead(400, { "Content-Type": "application/json" });
      response.end('{"error":"nothing is read here"}');
    }, answerAfterMs),
  );
});
server.listen(0, "127.0.0.1", () => {
  process.send!(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on("disconnect", () => process.exit(0));
