/** Segments of the journal, read without the zeros at their end. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameKind, writeFrame } from "../../../engine/files/frame.ts";
import {
  recordHeaderBytes,
  recordLength,
  scanSegment,
  writeRecordHeader,
} from "../../../engine/journal/journal-record.ts";

/** Random batches whose bytes may end in zeros, then zeros; the last batch may be cut off. */
const segment = fc
  .tuple(
    fc.array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(3_000)), { maxLength: 4 }),
    fc.nat(200),
    fc.nat(4_000),
  )
  .map(([batches, cut, padding]) => {
    const records = batches.map(([bytes, zeros], i) => {
      const frame = writeFrame(
        FrameKind.batch,
        new Uint8Array(0),
        Buffer.concat([bytes, Buffer.alloc(zeros)]),
      );
      const header = writeRecordHeader({
        ...{ signal: "logs", seq: i + 1, arrivalBase: i + 1, appendedMs: 1, keyUntilMs: 0, rows: 1 },
        ...{ frameBytes: frame.byteLength, writer: "0123456789abcdef", keyHash: undefined },
      });
      return Buffer.concat(
        [header, frame, Buffer.alloc(recordLength(frame.byteLength))],
        recordLength(frame.byteLength),
      );
    });
    const written = Buffer.concat(records);
    const kept = cut < 100 ? written : written.subarray(0, Math.max(0, written.byteLength - cut));
    return Buffer.concat([kept, Buffer.alloc(padding)]);
  });

test("a segment without the zeros at its end holds the same batches, and has the same problems", () => {
  fc.assert(
    fc.property(segment, (file) => {
      let end = file.byteLength;
      while (end > 0 && file[end - 1] === 0) end--;
      end = Math.min(file.byteLength, end + recordHeaderBytes);
      const whole = scanSegment(file);
      const cut = scanSegment(file.subarray(0, end), file.byteLength);
      const framesOf = ({ records }: typeof whole) =>
        records.map(({ frame }) => Buffer.from(frame).toString("hex"));
      expect(framesOf(cut)).toEqual(framesOf(whole));
      expect({ ...cut, records: [] }).toEqual({ ...whole, records: [] });
    }),
    { numRuns: 3_000 },
  );
});
