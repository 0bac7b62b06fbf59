/** Ordering values by their groups, and selecting values by rank. */
import { bitsFrom } from "./lanes.ts";
import { table0, table1 } from "./layout.ts";

/** Writes each selected row's value to ordered[next[group]] and increments next[group]. */
export function orderByGroup(
  groups: usize,
  width: u32,
  values: usize,
  rows: u32,
  selection: usize,
  next: usize,
  ordered: usize,
): void {
  if (width == 1) orderInto<u8>(groups, values, rows, selection, next, ordered);
  else if (width == 2) orderInto<u16>(groups, values, rows, selection, next, ordered);
  else orderInto<u32>(groups, values, rows, selection, next, ordered);
}

@inline
function orderInto<T>(
  groups: usize,
  values: usize,
  rows: u32,
  selection: usize,
  next: usize,
  ordered: usize,
): void {
  if (selection == 0) {
    const end = values + ((<usize>rows) << 3);
    for (; values < end; values += 8, groups += sizeof<T>()) {
      put(next + ((<usize>load<T>(groups)) << 2), load<f64>(values), ordered);
    }
    return;
  }
  for (let row: u32 = 0; row < rows; row += 64, values += 512, groups += 64 * sizeof<T>()) {
    for (let bits = bitsFrom(selection, row, rows); bits != 0; bits &= bits - 1) {
      const i = <usize>ctz(bits);
      put(next + ((<usize>load<T>(groups + i * sizeof<T>())) << 2), load<f64>(values + (i << 3)), ordered);
    }
  }
}

@inline
function put(at: usize, value: f64, ordered: usize): void {
  const place = load<u32>(at);
  store<f64>(ordered + ((<usize>place) << 3), value);
  store<u32>(at, place + 1);
}

/** In ranges up to this length each value is compared with every other. */
const shortMax: usize = 16;
/** Values that are sampled to choose a pivot. */
const sampled: usize = 8;

/**
 * The value at a rank of values[from, to), which are reordered (quickselect). `floor` is the whole part of the rank
 * plus `from`; `share` is its fraction, by which the next greater value counts. Partitioning has no branches, as the
 * processor could not predict them.
 */
export function quantileOf(values: usize, from: u32, to: u32, floor: u32, share: f64): f64 {
  let low = values + ((<usize>from) << 3);
  const end = values + ((<usize>to) << 3);
  let high = end;
  const target = values + ((<usize>floor) << 3);
  while (high - low > shortMax << 3) {
    const pivot = pivotOf(low, high, target);
    let middle = partition(low, high, pivot, false);
    if (middle == low) {
      // Nothing is below the pivot: move it and its equals to the front.
      middle = partition(low, high, pivot, true);
      if (target < middle) {
        high = middle;
        break;
      }
      low = middle;
    } else if (target >= middle) low = middle;
    else high = middle;
  }
  const isShort = high - low <= shortMax << 3;
  // In a longer range all values are equal.
  const value = isShort ? rankedOf(low, (high - low) >> 3, (target - low) >> 3) : load<f64>(low);
  if (share == 0) return value;
  const above = nextAfter(low, high, end, target, value);
  return above == value ? value : value + (above - value) * share;
}

/** Moves the values below the pivot (`withEquals`: not above it) to the front; returns where the others begin. */
@inline
function partition(low: usize, high: usize, pivot: f64, withEquals: bool): usize {
  let middle = low;
  for (let at = low; at < high; at += 8) {
    const value = load<f64>(at);
    store<f64>(at, load<f64>(middle));
    store<f64>(middle, value);
    middle += (<usize>(withEquals ? value <= pivot : value < pivot)) << 3;
  }
  return middle;
}

/**
 * Samples eight values and picks the one beside the wanted rank: it likely cuts off many values and keeps the rank on
 * the smaller side.
 */
function pivotOf(low: usize, high: usize, target: usize): f64 {
  const count = (high - low) >> 3;
  const step = (count / sampled) << 3;
  for (let i: usize = 0; i < sampled; i++) store<f64>(i << 3, load<f64>(low + i * step), table1);
  const place = (((target - low) >> 3) * sampled) / count;
  return rankedOf(table1, sampled, place >= sampled >> 1 ? place - 1 : place + 1);
}

/** The value at a rank of at most 16 values: the greatest one that at most `rank` values are less than. */
function rankedOf(values: usize, count: usize, rank: usize): f64 {
  for (let i: usize = 0; i < count << 3; i += 8) store<f64>(i, load<f64>(values + i), table0);
  store<f64>(count << 3, Infinity, table0);
  const end = (count + 1) & ~1;
  let found = -Infinity;
  for (let i: usize = 0; i < count << 3; i += 8) {
    const value = v128.load64_splat(i, table0);
    let less = i64x2.splat(0);
    for (let other: usize = 0; other < end << 3; other += 16)
      less = i64x2.sub(less, f64x2.lt(v128.load(other, table0), value));
    const isLow = <usize>(i64x2.extract_lane(less, 0) + i64x2.extract_lane(less, 1)) <= rank;
    const own = f64x2.extract_lane(value, 0);
    if (isLow && own > found) found = own;
  }
  return found;
}

/** The value after `target` if all values were sorted. Values from `high` on are not less than those before. */
function nextAfter(low: usize, high: usize, end: usize, target: usize, value: f64): f64 {
  let above = Infinity;
  let place = low;
  for (let at = low; at < high; at += 8) {
    const other = load<f64>(at);
    place += (<usize>(other <= value)) << 3;
    if (other > value && other < above) above = other;
  }
  if (place > target + 8) return value;
  if (place < high) return above;
  for (let at = high; at < end; at += 8) {
    const other = load<f64>(at);
    if (other < above) above = other;
  }
  return above;
}
