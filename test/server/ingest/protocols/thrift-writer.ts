/** Writes Jaeger's batches in Thrift's binary protocol. */

/** A field: its number, its type and its value. */
type Field = readonly [number: number, type: keyof typeof types, value: unknown];

const types = { bool: 2, double: 4, i32: 8, i64: 10, string: 11, struct: 12, list: 15 } as const;

/** The bytes of a structure. A list is one of structures. */
export function struct(...fields: Field[]): Buffer {
  const parts = fields.flatMap(([number, type, value]) => {
    const head = Buffer.alloc(3, types[type]);
    head.writeInt16BE(number, 1);
    return [head, write(type, value)];
  });
  return Buffer.concat([...parts, Buffer.of(0)]);
}

function write(type: Field[1], value: unknown): Buffer {
  const bytes = Buffer.alloc(type === "i32" ? 4 : 8);
  switch (type) {
    case "bool":
      return Buffer.of(value === true ? 1 : 0);
    case "double":
      bytes.writeDoubleBE(value as number);
      return bytes;
    case "i32":
      bytes.writeInt32BE(value as number);
      return bytes;
    case "i64":
      bytes.writeBigInt64BE(BigInt.asIntN(64, value as bigint));
      return bytes;
    case "string":
      return Buffer.concat([write("i32", Buffer.byteLength(value as string)), Buffer.from(value as string)]);
    case "struct":
      return value as Buffer;
    default: {
      const structs = value as Buffer[];
      return Buffer.concat([Buffer.of(types.struct), write("i32", structs.length), ...structs]);
    }
  }
}

/** A tag: its type is told by the value. */
function tag(key: string, value: string | number | boolean | bigint): Buffer {
  const name = [1, "string", key] as const;
  switch (typeof value) {
    case "string":
      return struct(name, [2, "i32", 0], [3, "string", value]);
    case "number":
      return struct(name, [2, "i32", 1], [4, "double", value]);
    case "boolean":
      return struct(name, [2, "i32", 2], [5, "bool", value]);
    default:
      return struct(name, [2, "i32", 3], [6, "i64", value]);
  }
}

/** A batch with one span that has everything. */
export function jaegerBatch(startUs: bigint): Buffer {
  const reference = (type: number, high: bigint, spanId: bigint) =>
    struct([1, "i32", type], [2, "i64", 0x5af7183fb1d4cf5fn], [3, "i64", high], [4, "i64", spanId]);
  const log = struct([1, "i64", startUs + 5n], [2, "list", [tag("event", "retry"), tag("attempt", 2n)]]);
  const span = struct(
    [1, "i64", 0x5af7183fb1d4cf5fn],
    [2, "i64", 0xfedcba9876543210n],
    [3, "i64", 0x352bff9a74ca9ad2n],
    [4, "i64", 0n],
    [5, "string", "GET /cart"],
    [6, "list", [reference(0, 0xfedcba9876543210n, 7n), reference(1, 1n, 8n)]],
    [7, "i32", 1],
    [8, "i64", startUs],
    [9, "i64", 1_431n],
    [10, "list", [tag("span.kind", "server"), tag("error", true), tag("ratio", 0.5), tag("n", 7n)]],
    [11, "list", [log]],
  );
  const process = struct([1, "string", "cart"], [2, "list", [tag("hostname", "node-1")]]);
  return struct([1, "struct", process], [2, "list", [span]]);
}
