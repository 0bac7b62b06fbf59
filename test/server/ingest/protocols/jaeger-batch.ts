/** A batch of Jaeger's. */
import { struct, tag } from "../../../../fixtures/thrift.ts";

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
