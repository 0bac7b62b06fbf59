/** Loads the variables of a chunk's messages, under the lease of one view. */
import { type Column, columnBytes, type DictionaryColumn } from "../column/column.ts";
import { decodeGroup, openSingleValues, openStoredGroup } from "../column/encoding.ts";
import { toRepeatedTexts } from "../column/repeated-texts.ts";
import { gatherRowTexts } from "../column/row-texts.ts";
import { Failure } from "../failure.ts";
import { freePayload } from "../files/zstd.ts";
import type { Needle } from "../kernels/needle.ts";
import {
  type MessageColumn,
  type MessageLoader,
  orderByTemplate,
  type TemplateOrder,
} from "../template/message-column.ts";
import type { RepeatedTexts } from "../template/variables/readable-slot.ts";
import type { SingleValues } from "../template/variables/single-values.ts";
import type {
  AttributeTexts,
  FoundVariables,
  SlotAttributes,
  StoredGroup,
  TextRange,
} from "../template/variables/stored-group.ts";
import {
  type ReadAttribute,
  type ReadAttributeTexts,
  type VariableGroup,
  variableGroups,
} from "../template/variables/variable-columns.ts";
import { type Bitmap, hasBit, setBit } from "../vector/bitmap.ts";
import { getOrMake } from "../vector/map-entry.ts";
import type { TextVector } from "../vector/text.ts";
import type { ChunkOutline } from "./chunk-header.ts";
import { type ColumnReader, useOnce } from "./column-reader.ts";

/** The columns of a chunk's attributes, which variables repeat. */
interface AttributeColumns {
  column(field: { kind: "attribute"; key: string }): Column;
  /** Texts that are computed from a column by `make`, and cached by their name. */
  texts(name: string, make: () => TextVector): TextVector;
}

/** The column of a group of variables, by its index in the header; -1 where there is none. */
export function findVariables({ columns }: ChunkOutline, group: number): number {
  return columns.find("variables", variableGroups[group]!);
}

/** After searches by so many views a group is decoded. */
const storedSearchesMax = 16;

export class VariableLoader implements MessageLoader {
  readonly #reader: ColumnReader;
  readonly #attributes: AttributeColumns;
  /** Groups that are read value by value, with the payloads that they are read from. */
  readonly #single = new Map<number, { values: SingleValues; payload: Uint8Array }>();
  /** Groups as they are stored, of which this view searched a part. */
  readonly #inPart = new Map<number, StoredGroup>();
  /** Groups that this view searched. */
  readonly #searched = new Set<number>();

  constructor(reader: ColumnReader, attributes: AttributeColumns) {
    this.#reader = reader;
    this.#attributes = attributes;
  }

  group(messages: MessageColumn, group: number): VariableGroup {
    const { groups, storedGroups } = this.#reader.chunk;
    const decoded = this.#reader.getOrMake(groups, group, (held) =>
      useOnce(this.#reader.read(this.#find(group)), held, (payload) =>
        decodeGroup(payload, messages, group, held, this.#readTexts),
      ),
    );
    const stored = storedGroups.get(group);
    if (stored !== undefined) this.#reader.heap.release(stored.held);
    return decoded;
  }

  /** Reads single values only for the first view that asks. For later ones the group is decoded, and cached. */
  singleValues(messages: MessageColumn, group: number): SingleValues | undefined {
    const known = this.#single.get(group);
    if (known !== undefined) return known.values;
    const { readSingly } = this.#reader.chunk;
    if (!this.#mayReadInPart(group, readSingly)) return undefined;
    const payload = this.#reader.read(this.#find(group));
    const values = openSingleValues(payload, messages, group, this.#readAttribute);
    readSingly.add(group);
    this.#single.set(group, { values, payload });
    return values;
  }

  /**
   * A group is searched as it is stored. Where queries search it again and again, it is decoded while memory is free: a search
   * then takes two thirds of the time, but decoding takes that of ten searches, and the group half as much memory again.
   */
  search(
    messages: MessageColumn,
    group: number,
    needle: Needle,
    range?: TextRange,
  ): FoundVariables | undefined {
    if (range !== undefined) return this.#searchRange(messages, group, needle, range);
    const { heap, chunk } = this.#reader;
    const { groups, storedGroups } = chunk;
    if (!this.#copies || groups.has(group)) return undefined;
    const index = this.#find(group);
    const stored = this.#reader.getOrMake(storedGroups, group, (held) =>
      this.#reader.openStored(index, held, (payload) => openStoredGroup(payload, messages, group, held)),
    );
    if (this.#countEarlierSearches(group) >= storedSearchesMax && heap.hasFree(stored.decodedBytes))
      return undefined;
    return stored.find(needle, this.#slotAttributes(messages, group), heap);
  }

  /** Searches a range of texts as they are stored, only for the first view that asks. For later ones the group is decoded, and cached. */
  #searchRange(
    messages: MessageColumn,
    group: number,
    needle: Needle,
    range: TextRange,
  ): FoundVariables | undefined {
    const { heap, chunk } = this.#reader;
    const isOpen = this.#inPart.has(group);
    if (!isOpen && !this.#mayReadInPart(group, chunk.searchedInPart)) return undefined;
    const stored = getOrMake(this.#inPart, group, () =>
      this.#reader.openStored(this.#find(group), heap.scratch, (payload) =>
        openStoredGroup(payload, messages, group, heap.scratch),
      ),
    );
    const found = stored.find(needle, this.#slotAttributes(messages, group), heap, range);
    chunk.searchedInPart.add(group);
    return found;
  }

  /** The attributes of a group's slots, for one search. */
  #slotAttributes(messages: MessageColumn, group: number): SlotAttributes {
    const { kernels, scratch } = this.#reader.heap;
    /** By key: a bit for each value that holds the needle, or "none". Several slots have the values of one attribute. */
    const searched = new Map<string, Bitmap | "none">();
    const search = ({ values, valueCount }: DictionaryColumn, needle: Needle): Bitmap | "none" => {
      const holding = scratch.uint8((valueCount >> 3) + 1);
      return kernels.rowsHolding(values, needle, holding) === 0 ? "none" : holding;
    };
    const rowsOf = ({ slot, from, to }: AttributeTexts) =>
      messages.rowsOfSlot(group, slot).subarray(from, to);
    return {
      markHolding: (texts, needle, found, at) => {
        const column = this.#attributes.column({ kind: "attribute", key: texts.key });
        if (column.kind !== "dictionary") return false;
        const holding = getOrMake(searched, texts.key, () => search(column, needle));
        if (holding === "none") return true;
        const rows = rowsOf(texts);
        for (let i = 0; i < rows.length; i++)
          if (hasBit(holding, column.codes[rows[i]!]!)) setBit(found, at + i);
        return true;
      },
      read: (texts, heap) => this.#readTexts(texts.key, rowsOf(texts), heap),
    };
  }

  /** Whether a group may be read in part: it is not decoded, nor among those that were `read` in part. */
  #mayReadInPart(group: number, read: ReadonlySet<number>): boolean {
    return this.#copies && !this.#reader.chunk.groups.has(group) && !read.has(group);
  }

  repeated(key: string): RepeatedTexts {
    return toRepeatedTexts(this.#attributes.column({ kind: "attribute", key }), (make) =>
      this.#attributes.texts(`repeated ${key}`, make),
    );
  }

  order(messages: MessageColumn): TemplateOrder {
    return this.#reader.getOrMake(this.#reader.chunk.orders, "message", (held) =>
      orderByTemplate(messages, held),
    );
  }

  hasOrder(): boolean {
    return this.#reader.chunk.orders.size > 0;
  }

  /** Frees what single values were read from. */
  close(): void {
    for (const { payload } of this.#single.values()) freePayload(payload);
    this.#single.clear();
  }

  /** How many views before this one searched a group. Counts this one, too, once. */
  #countEarlierSearches(group: number): number {
    const { searches } = this.#reader.chunk;
    if (!this.#searched.has(group)) searches.set(group, (searches.get(group) ?? 0) + 1);
    this.#searched.add(group);
    return searches.get(group)! - 1;
  }

  /** Whether what is decoded lies elsewhere than the payload. */
  get #copies(): boolean {
    return this.#reader.heap.scratch.copies;
  }

  readonly #readAttribute: ReadAttribute = (key) => {
    const column = this.#attributes.column({ kind: "attribute", key });
    return (row) => columnBytes(column, row);
  };

  readonly #readTexts: ReadAttributeTexts = (key, rows, heap) =>
    gatherRowTexts(this.#attributes.column({ kind: "attribute", key }), rows, heap);

  /** Throws Failure "damage" where the chunk lacks the group. */
  #find(group: number): number {
    const index = findVariables(this.#reader.chunk.source.header, group);
    if (index < 0) throw new Failure("damage", "message: variables are missing");
    return index;
  }
}
