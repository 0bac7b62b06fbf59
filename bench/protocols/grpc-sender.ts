/** Sends messages over gRPC on one connection, as an SDK does. */
import { type ClientHttp2Session, connect } from "node:http2";
import type { ServerProcess } from "../server/server-process.ts";

export class GrpcSender {
  readonly #session: ClientHttp2Session;
  readonly #token: string;

  constructor({ grpcPort, token }: Pick<ServerProcess, "grpcPort" | "token">) {
    this.#session = connect(`http://127.0.0.1:${grpcPort}`);
    this.#token = token;
  }

  /** Rejects where the status is not OK. */
  send(path: string, message: Uint8Array): Promise<void> {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc",
        te: "trailers",
        authorization: `Bearer ${this.#token}`,
      });
      let status: unknown;
      const noteStatus = (headers: Record<string, unknown>) => {
        status = headers["grpc-status"] ?? status;
      };
      stream.on("response", noteStatus).on("trailers", noteStatus).on("error", reject);
      stream.on("close", () => {
        if (status === "0") resolve();
        else reject(new Error(`${path} answered with status ${status}`));
      });
      stream.resume();
      stream.write(prefix);
      stream.end(message);
    });
  }

  close(): void {
    this.#session.close();
  }
}
