/** Rows as Arrow record batches. The only importer of apache-arrow. */
import { Field, Map_, makeData, RecordBatch, Schema, Struct, TimestampNanosecond, Utf8 } from "apache-arrow";
import type { ReadAnswer } from "../scan/chunk-read.ts";
import type { TextVector } from "../vector/text.ts";

export type { RecordBatch };

const pairType = new Struct<{ key: Utf8; value: Utf8 }>([
  new Field("key", new Utf8(), false),
  new Field("value", new Utf8(), false),
]);
const attributesType = new Map_<Utf8, Utf8>(new Field("entries", pairType, false));

const schema = new Schema([
  new Field("timestamp", new TimestampNanosecond("UTC"), false),
  new Field("log_level", new Utf8(), false),
  new Field("message", new Utf8(), false),
  new Field("attributes", attributesType, false),
]);

export function recordBatch(answer: ReadAnswer): RecordBatch {
  const length = answer.rows;
  const pairs = makeData({
    type: pairType,
    length: answer.keys.offsets.length - 1,
    nullCount: 0,
    children: [utf8(answer.keys), utf8(answer.values)],
  });
  const children = [
    makeData({ type: new TimestampNanosecond("UTC"), length, nullCount: 0, data: answer.timeNs }),
    utf8(answer.level),
    utf8(answer.message),
    makeData({ type: attributesType, length, nullCount: 0, valueOffsets: answer.pairOffsets, child: pairs }),
  ];
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new RecordBatch(schema, data);
}

function utf8(text: TextVector) {
  const valueOffsets = new Int32Array(text.offsets.buffer, text.offsets.byteOffset, text.offsets.length);
  const length = text.offsets.length - 1;
  return makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data: text.bytes });
}
