/** Fields of protobuf messages, for messages whose fields have an order of their own. */
import protobuf from "protobufjs";

/** The bytes of a field with a length. */
export function field(number: number, bytes: Uint8Array | string): Buffer {
  const writer = protobuf.Writer.create().uint32(number * 8 + 2);
  return Buffer.from((typeof bytes === "string" ? writer.string(bytes) : writer.bytes(bytes)).finish());
}
