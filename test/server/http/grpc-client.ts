/** A client of gRPC that shows what goes over the wire. It shares no code with the server. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
} from "node:http2";
import protobuf from "protobufjs";

export const exportMethods = {
  logs: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
  traces: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
  metrics: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
} as const;

export const codes = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

const { root } = protobuf.parse(`syntax = "proto3";
message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
message Any { string type_url = 1; bytes value = 2; }
message RetryInfo { Duration retry_delay = 1; }
message Duration { int64 seconds = 1; int32 nanos = 2; }`);

export interface GrpcAnswer {
  httpStatus: number;
  /** The code of the status; undefined where none came. */
  code: number | undefined;
  message: string;
  /** What RetryInfo says; undefined without one. */
  retrySeconds: number | undefined;
  /** The message of the answer. */
  body: Buffer;
  headers: Record<string, unknown>;
}

export interface GrpcCallOptions {
  token?: string;
  metadata?: Record<string, string>;
  /** The encoding that is named; the message must be in it unless `isPlain`. */
  encoding?: string;
  isPlain?: boolean;
}

/** A message in gRPC's framing. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export class GrpcClient {
  readonly session: ClientHttp2Session;
  /** Codes of the GOAWAY frames that came. */
  readonly goaways: number[] = [];

  constructor(port: number, options: ClientSessionOptions = {}) {
    this.session = connect(`http://127.0.0.1:${port}`, options);
    this.session.on("error", () => undefined);
    this.session.on("goaway", (code) => this.goaways.push(code));
  }

  /** Opens a call whose message is still to be written. */
  open(path: string, options: GrpcCallOptions = {}): ClientHttp2Stream {
    const { token, metadata, encoding } = options;
    const stream = this.session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(encoding === undefined ? {} : { "grpc-encoding": encoding }),
      ...metadata,
    });
    stream.on("error", () => undefined);
    return stream;
  }

  call(path: string, message: Uint8Array, options: GrpcCallOptions = {}): Promise<GrpcAnswer> {
    const stream = this.open(path, options);
    const answer = answerOf(stream);
    stream.end(framed(message, options.encoding !== undefined && options.isPlain !== true));
    return answer;
  }

  close(): void {
    this.session.destroy();
  }
}

/** Resolves once the stream has closed. */
export function answerOf(stream: ClientHttp2Stream): Promise<GrpcAnswer> {
  return new Promise((resolve) => {
    let headers: Record<string, unknown> = {};
    const pieces: Buffer[] = [];
    stream.on("response", (got) => {
      headers = { ...headers, ...got };
    });
    stream.on("trailers", (got) => {
      headers = { ...headers, ...got };
    });
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("close", () => {
      const { "grpc-status": code, "grpc-message": message, ":status": status } = headers;
      resolve({
        httpStatus: Number(status ?? 0),
        code: code === undefined ? undefined : Number(code),
        message: decodeURIComponent(String(message ?? "")),
        retrySeconds: retrySecondsOf(headers["grpc-status-details-bin"]),
        body: Buffer.concat(pieces).subarray(5),
        headers,
      });
    });
  });
}

function retrySecondsOf(details: unknown): number | undefined {
  if (typeof details !== "string") return undefined;
  const decode = (type: string, bytes: Uint8Array) => root.lookupType(type).decode(bytes) as never;
  const status: { details: { typeUrl: string; value: Uint8Array }[] } = decode(
    "Status",
    Buffer.from(details, "base64"),
  );
  const info = status.details.find(({ typeUrl }) => typeUrl === "type.googleapis.com/google.rpc.RetryInfo");
  if (info === undefined) return undefined;
  const { retryDelay }: { retryDelay: { seconds: number } } = decode("RetryInfo", info.value);
  return Number(retryDelay.seconds);
}
