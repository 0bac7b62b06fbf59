/** Random changes of bytes. */
import type { Random } from "../../../fixtures/random.ts";

const specialBytes = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x5b, 0x7b, 0x5c];

/** Changes, removes, repeats or inserts some bytes. */
export function mutateBody(body: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(body);
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    const position = random.below(bytes.length + 1);
    const length = random.below(12);
    const head = bytes.subarray(0, position);
    switch (random.below(5)) {
      case 0:
        if (position < bytes.length) bytes[position] = random.below(256);
        break;
      case 1:
        if (position < bytes.length) bytes[position] = random.pick(specialBytes);
        break;
      case 2:
        bytes = Buffer.concat([head, bytes.subarray(position + length)]);
        break;
      case 3:
        bytes = Buffer.concat([head, bytes.subarray(position, position + length), bytes.subarray(position)]);
        break;
      default:
        bytes = Buffer.concat([head, Buffer.from(specialBytes.slice(0, length)), bytes.subarray(position)]);
    }
  }
  return bytes;
}
