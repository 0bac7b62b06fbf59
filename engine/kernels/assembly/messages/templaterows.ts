/** The rows and the slots of templates: what a decoded column of messages is read by. */

/** The byte that stands for a variable in a template. */
const slotByte: u8 = 0xff;

/**
 * Sorts rows by template, in their order. `starts` has an entry for each template and one more, all 0: they become the
 * place in `ordered` of each template's first row. `ranks` gets the number of each row among those of its template.
 * Returns false where a code is not below `templates`.
 */
export function orderRows(
  codes: usize,
  width: u32,
  rows: u32,
  templates: u32,
  starts: usize,
  ordered: usize,
  ranks: usize,
): bool {
  if (width == 1) return orderRowsOf<u8>(codes, rows, templates, starts, ordered, ranks);
  if (width == 2) return orderRowsOf<u16>(codes, rows, templates, starts, ordered, ranks);
  return orderRowsOf<u32>(codes, rows, templates, starts, ordered, ranks);
}

@inline
function orderRowsOf<T>(
  codes: usize,
  rows: u32,
  templates: u32,
  starts: usize,
  ordered: usize,
  ranks: usize,
): bool {
  for (let row: usize = 0; row < rows; row++) {
    const code = <u32>load<T>(codes + row * sizeof<T>());
    if (code >= templates) return false;
    const counter = starts + (<usize>code << 2) + 4;
    const rank = load<u32>(counter);
    store<u32>(ranks + (row << 2), rank);
    store<u32>(counter, rank + 1);
  }
  let sum: u32 = 0;
  for (let entry: usize = 0; entry <= templates; entry++) {
    sum += load<u32>(starts + (entry << 2));
    store<u32>(starts + (entry << 2), sum);
  }
  for (let row: usize = 0; row < rows; row++) {
    const code = <usize>load<T>(codes + row * sizeof<T>());
    const place = load<u32>(starts + (code << 2)) + load<u32>(ranks + (row << 2));
    store<u32>(ordered + (<usize>place << 2), <u32>row);
  }
  return true;
}

/**
 * Finds the slots in the texts of templates. `firstSlots` gets the number of slots before each template, and that of
 * all; `places` the position of each slot, of the first `placesMax`. Returns the number of slots.
 */
export function findSlots(
  bytes: usize,
  offsets: usize,
  templates: u32,
  firstSlots: usize,
  places: usize,
  placesMax: u32,
): u32 {
  let slot: u32 = 0;
  let at: u32 = 0;
  for (let template: usize = 0; template < templates; template++) {
    store<u32>(firstSlots + (template << 2), slot);
    const end = load<u32>(offsets + (template << 2), 4);
    for (; at < end; at++) {
      if (load<u8>(bytes + at) != slotByte) continue;
      if (slot < placesMax) store<u32>(places + (<usize>slot << 2), at);
      slot++;
    }
  }
  store<u32>(firstSlots + (<usize>templates << 2), slot);
  return slot;
}
