/**
 * Probing a list of membership filters, as template/token-filter.ts writes it: their number, the end of each in bytes,
 * the filters.
 */
import { operandAt } from "./layout.ts";

/**
 * The number of the first filter at or after `from` that has all bits of a hash, or -1. The bits of the hash, of one
 * block, lie at `operandAt`.
 */
export function findFilter(filters: usize, from: u32, hash: u32): i32 {
  const count = load<u32>(filters);
  const ends = filters + 4;
  const blocks = ends + ((<usize>count) << 2);
  const low = v128.load(operandAt);
  const high = v128.load(operandAt, 16);
  let start: u32 = from == 0 ? 0 : load<u32>(ends + ((<usize>(from - 1)) << 2));
  for (let i = from; i < count; i++) {
    const end = load<u32>(ends + ((<usize>i) << 2));
    const block = ((<u64>hash) * (<u64>((end - start) >> 5))) >> 32;
    const at = blocks + start + ((<usize>block) << 5);
    const missing = v128.or(v128.andnot(low, v128.load(at)), v128.andnot(high, v128.load(at, 16)));
    if (!v128.any_true(missing)) return <i32>i;
    start = end;
  }
  return -1;
}
