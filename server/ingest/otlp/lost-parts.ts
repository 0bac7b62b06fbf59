/** Attributes of rows about what was left out of them: what the sender dropped, and what is larger than a row may be. */

import type { ProtoScanner } from "../protobuf-scanner.ts";

/** Attributes with OpenTelemetry's counts of dropped attributes, events and links. */
export const droppedKeys = [
  "dropped_attributes_count",
  "dropped_events_count",
  "dropped_links_count",
] as const;

/** Attribute of a span that ends before it starts, as where clocks differ. Its duration is 0. */
export const endsBeforeStartKey = "ends_before_start";

/** Reads a count of 32 bits; more bits are left out, as protobuf does. */
export function readCount(scanner: Pick<ProtoScanner, "readVarint">, end: number): number {
  return scanner.readVarint(end) % 2 ** 32;
}
