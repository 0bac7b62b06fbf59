/** The variables of a chunk's messages, encoded in WebAssembly as `VariableWriter` encodes them. */

import { align8, type Payload } from "../../files/column-payload.ts";
import type { BlockMemory } from "../../kernels/block-memory.ts";
import { NgramFilterBuilder, NgramLength } from "../ngram-filter.ts";
import type { TokenizedInMemory } from "../tokenizer.ts";
import type { TokenizedPlaces } from "../tokenizer-kernel.ts";
import type { RepeatableAttribute } from "./repeatable-attribute.ts";
import { type EncodedVariables, ngramLengths, variableGroups } from "./variable-columns.ts";

/** What assembly/messages/variables.ts exports; all parameters but numbers of things are addresses. */
interface VariableKernels {
  encodeVariables(
    rows: number,
    templates: number,
    offsets: number,
    texts: number,
    codes: number,
    firstVariables: number,
    starts: number,
    ends: number,
    bytes: number,
    repeatables: number,
    repeatableCount: number,
  ): void;
  groupSlots(group: number): number;
  groupStream(group: number, stream: number): number;
  groupSizes(group: number): number;
  groupNgrams(group: number): number;
  makeGroupTokens(group: number): number;
  messageNgramBits(): number;
  slotKinds(): number;
  slotClasses(): number;
  streamAt(stream: number): number;
  streamLength(stream: number): number;
}

/** The streams of a group, by their numbers. */
const Stream = { data: 0, lengths: 1, longLengths: 2, texts: 3, keys: 4 } as const;

/** `templates` is the text of all templates, which begin at `offsets`. Throws where the memory is full; see `isTrap`. */
export function encodeVariablesIn(
  { memory, places }: TokenizedInMemory,
  templates: Uint8Array,
  offsets: Uint32Array,
  attributes: readonly RepeatableAttribute[],
): EncodedVariables {
  return new VariablesKernel(memory).encode(places, templates, offsets, attributes);
}

class VariablesKernel {
  readonly #memory: BlockMemory;
  readonly #kernels: VariableKernels;

  constructor(memory: BlockMemory) {
    this.#memory = memory;
    this.#kernels = memory.kernels<VariableKernels>();
  }

  encode(
    { rows, bytes, codes, firstVariables, variableStarts, variableEnds }: TokenizedPlaces,
    templates: Uint8Array,
    offsets: Uint32Array,
    attributes: readonly RepeatableAttribute[],
  ): EncodedVariables {
    const memory = this.#memory;
    const columns = attributes.flatMap(({ values, codes: attributeCodes }) => [
      memory.placeVector(values.offsets),
      memory.placeVector(values.bytes),
      memory.placeVector(attributeCodes),
      values.offsets.length - 1,
    ]);
    const repeatables = memory.placeVector(Uint32Array.from(columns));
    this.#kernels.encodeVariables(
      ...([rows, offsets.length - 1, memory.placeVector(offsets), memory.placeVector(templates)] as const),
      ...([codes, firstVariables, variableStarts, variableEnds, bytes] as const),
      ...([repeatables, attributes.length] as const),
    );
    return {
      kinds: this.#read(this.#kernels.slotKinds()),
      classes: this.#read(this.#kernels.slotClasses()),
      filter: this.#copy(
        this.#kernels.messageNgramBits(),
        NgramFilterBuilder.byteLength(NgramLength.messages),
      ),
      groups: variableGroups.flatMap((name, group) =>
        this.#kernels.groupSlots(group) === 0
          ? []
          : [{ name, payload: this.#readPayload(group, attributes), filter: this.#readFilter(group) }],
      ),
    };
  }

  #readPayload(group: number, attributes: readonly RepeatableAttribute[]): Omit<Payload, "encoding"> {
    const read = (stream: number) => this.#read(this.#kernels.groupStream(group, stream));
    const keys = Array.from(new Uint32Array(read(Stream.keys).buffer), (index) => attributes[index]!.key);
    const buffers = [
      this.#copy(this.#kernels.groupSizes(group), 3 * 4),
      ...[Stream.data, Stream.lengths, Stream.longLengths, Stream.texts].map(read),
      Buffer.from(JSON.stringify(keys)),
    ];
    return { width: 0, hasValidity: false, rows: this.#kernels.groupSlots(group), buffers };
  }

  /** The n-gram filter, where the group has one, padded to a multiple of eight bytes; after it the token filter. */
  #readFilter(group: number): Uint8Array {
    const tokens = this.#read(this.#kernels.makeGroupTokens(group));
    const n = ngramLengths[group];
    if (n === undefined) return tokens;
    const byteLength = NgramFilterBuilder.byteLength(n);
    const bits = this.#copy(this.#kernels.groupNgrams(group), byteLength);
    return Buffer.concat([bits, new Uint8Array(align8(byteLength) - byteLength), tokens]);
  }

  /** The bytes of a stream. */
  #read(stream: number): Uint8Array<ArrayBuffer> {
    return this.#copy(this.#kernels.streamAt(stream), this.#kernels.streamLength(stream));
  }

  #copy(at: number, byteLength: number): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(byteLength);
    copy.set(this.#memory.uint8(at, byteLength));
    return copy;
  }
}
