/** The rows and the slots of templates: what a decoded column of messages is read by. */

/** The byte that stands for a variable in a template. */
const slotByte: u8 = 0xff;

/**
 * Counts the rows of each template. `starts` has an entry for each template and one more, all 0: they become the number of
 * rows of all templates before. Returns false where a code is not below `templates`.
 */
export function countTemplateRows(codes: usize, width: u32, rows: u32, templates: u32, starts: usize): bool {
  if (width == 1) return countRowsOf<u8>(codes, rows, templates, starts);
  if (width == 2) return countRowsOf<u16>(codes, rows, templates, starts);
  return countRowsOf<u32>(codes, rows, templates, starts);
}

@inline
function countRowsOf<T>(codes: usize, rows: u32, templates: u32, starts: usize): bool {
  for (let row: usize = 0; row < rows; row++) {
    const code = <u32>load<T>(codes + row * sizeof<T>());
    if (code >= templates) return false;
    const counter = starts + (<usize>code << 2);
    store<u32>(counter, load<u32>(counter, 4) + 1, 4);
  }
  let sum: u32 = 0;
  for (let entry: usize = 0; entry <= templates; entry++) {
    sum += load<u32>(starts + (entry << 2));
    store<u32>(starts + (entry << 2), sum);
  }
  return true;
}

/**
 * Sorts rows by template, in their order. `starts` is that of `countTemplateRows`: the place in `ordered` of each
 * template's first row. `ranks` gets the number of each row among those of its template.
 */
export function orderRows(
  codes: usize,
  width: u32,
  rows: u32,
  templates: u32,
  starts: usize,
  ordered: usize,
  ranks: usize,
): void {
  if (width == 1) placeRowsOf<u8>(codes, rows, starts, ordered);
  else if (width == 2) placeRowsOf<u16>(codes, rows, starts, ordered);
  else placeRowsOf<u32>(codes, rows, starts, ordered);
  // Each entry is now the place after the template's rows.
  let from: u32 = 0;
  for (let entry: usize = 0; entry < templates; entry++) {
    const start = starts + (entry << 2);
    const to = load<u32>(start);
    store<u32>(start, from);
    for (let place = from; place < to; place++) {
      const row = <usize>load<u32>(ordered + (<usize>place << 2));
      store<u32>(ranks + (row << 2), place - from);
    }
    from = to;
  }
}

/** Puts each row after those of its template that came before, and moves the template's start there. */
@inline
function placeRowsOf<T>(codes: usize, rows: u32, starts: usize, ordered: usize): void {
  for (let row: usize = 0; row < rows; row++) {
    const start = starts + (<usize>load<T>(codes + row * sizeof<T>()) << 2);
    const place = load<u32>(start);
    store<u32>(ordered + (<usize>place << 2), <u32>row);
    store<u32>(start, place + 1);
  }
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

/**
 * Lists the slots of each group, ascending. `groupOfClasses` has the group of each combination of character classes, 256
 * bytes. `starts` has an entry for each group and one more, all 0: they become the place in `slots` of each group's first
 * slot. `indexes` gets the number of each slot among those of its group.
 */
export function listGroupSlots(
  classes: usize,
  count: u32,
  groupOfClasses: usize,
  groups: u32,
  starts: usize,
  indexes: usize,
  slots: usize,
): void {
  for (let slot: usize = 0; slot < count; slot++) {
    const counter = starts + (groupAt(classes + slot, groupOfClasses) << 2);
    const index = load<u32>(counter, 4);
    store<u32>(indexes + (slot << 2), index);
    store<u32>(counter, index + 1, 4);
  }
  for (let group: usize = 0; group < groups; group++) {
    const start = starts + (group << 2);
    store<u32>(start, load<u32>(start, 4) + load<u32>(start), 4);
  }
  for (let slot: usize = 0; slot < count; slot++) {
    const start = load<u32>(starts + (groupAt(classes + slot, groupOfClasses) << 2));
    const place = start + load<u32>(indexes + (slot << 2));
    store<u32>(slots + (<usize>place << 2), <u32>slot);
  }
}

@inline
function groupAt(classes: usize, groupOfClasses: usize): usize {
  return load<u8>(groupOfClasses + load<u8>(classes));
}
