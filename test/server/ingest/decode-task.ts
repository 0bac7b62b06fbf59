/** The task that a body is decoded with, where a test sets nothing else. */
import { Families } from "../../../server/ingest/prometheus/families.ts";

export function makePlainTask(body: Uint8Array) {
  return {
    body: new Uint8Array(body),
    encoding: "identity" as const,
    unpackedBytesMax: 1 << 30,
    sender: "",
    wantsContentKey: true,
    flattensJson: false,
    index: "",
    families: new Families(() => 0).shared,
  };
}
