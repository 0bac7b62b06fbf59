/**
 * Series that a thread has met, in WebAssembly. They are kept from one batch to the next, since senders name the same
 * series again and again: what names a series in a wire format (its alias) is looked up, and not parsed again.
 */

import { BlockMemory } from "../kernels/block-memory.ts";
import type { FingerprintKernels } from "../metrics/fingerprints.ts";
import type { MetricType } from "../model/sample.ts";
import { growArray } from "../vector/arrays.ts";
import type { TextVector } from "../vector/text.ts";
import type { SampleKernels } from "./batch-kernels.ts";

/** By default a memory that has grown beyond this is not kept. A series takes about 800 bytes of it. */
const keptBytesDefault = 64 * 1024 * 1024;
const keptKindsMax = 1_000;

/** What a sample declares of its series. */
export interface SeriesDeclaration {
  series: number;
  type: MetricType;
  /** Number of the unit; -1 where the sample has none. */
  unit: number;
}

/** The series, units and aliases that the batches of a thread have in common. One batch uses it at a time. */
export class SeriesMemory {
  readonly memory = BlockMemory.make();
  readonly kernels = this.memory.kernels<SampleKernels & FingerprintKernels>();
  /** Batches that used this memory, with the present one. */
  batch = 0;
  readonly #identities: number;
  readonly #units: number;
  readonly #names: number;
  readonly #bytes = new Room(this.memory);
  readonly #body = new Room(this.memory);
  readonly #offsets = new Room(this.memory);
  readonly #texts = new Room(this.memory);
  readonly #unitOffsets = new Room(this.memory);
  readonly #unitTexts = new Room(this.memory);
  readonly #fingerprint = this.memory.uint32(this.memory.reserve(8), 2);
  /** By series: the halves of its fingerprint, low and high. */
  #fingerprints = new Uint32Array(128);
  /** By series: the last batch that it was numbered in, and its number there. */
  #batches = new Uint32Array(64);
  #numbers = new Uint32Array(64);
  readonly #declarations: SeriesDeclaration[] = [];
  /** Numbers of the kinds of aliases. */
  readonly #kinds = new Map<string, number>();

  constructor() {
    const { kernels } = this;
    // Bodies are overwritten by the next ones, so texts are always copied.
    kernels.setStable(0, 0);
    kernels.beginAliases();
    this.#identities = kernels.newColumn();
    this.#units = kernels.newColumn();
    this.#names = kernels.newColumn();
  }

  /** A memory of this thread that has grown beyond it is not kept. */
  static keptBytesMax = keptBytesDefault;
  /** The memory that the next batch of this thread takes. */
  static #spare: SeriesMemory | undefined;

  /** A memory for a batch that begins now. */
  static take(): SeriesMemory {
    const memory = SeriesMemory.#spare ?? new SeriesMemory();
    SeriesMemory.#spare = undefined;
    memory.beginBatch();
    return memory;
  }

  /** Begins a batch, in which no series has a number. */
  beginBatch(): void {
    this.batch++;
    this.kernels.dropKey();
    this.kernels.setWindow(0, 0, 0);
  }

  /** Gives the memory to the next batch of this thread. */
  giveBack(): void {
    if (this.memory.byteLength <= SeriesMemory.keptBytesMax && this.#kinds.size <= keptKindsMax)
      SeriesMemory.#spare = this;
  }

  /** The number of a kind of aliases: what else than an alias' bytes decides which series it names. */
  kindOf(name: string): number {
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    this.#kinds.set(name, this.#kinds.size);
    return this.#kinds.size - 1;
  }

  /** Places a body, until the next one. Returns its address. */
  placeBody(body: Uint8Array): number {
    return this.#body.place(body);
  }

  /** The number of the series with the identity bytes[0, length); -1 where it has none. */
  findSeries(bytes: Uint8Array, length: number): number {
    return this.kernels.findText(this.#identities, this.#bytes.place(bytes.subarray(0, length)), length);
  }

  /** Adds the series that `findSeries` has not found. */
  addSeries(bytes: Uint8Array, length: number): number {
    const { kernels } = this;
    const at = this.#bytes.place(bytes.subarray(0, length));
    const series = kernels.internText(this.#identities, at, length);
    if (series === this.#batches.length) this.#grow();
    kernels.fingerprintText(at, length, this.#fingerprint.byteOffset);
    this.#fingerprints.set(this.#fingerprint, series * 2);
    return series;
  }

  fingerprintOf(series: number): { low: number; high: number } {
    return { low: this.#fingerprints[series * 2]!, high: this.#fingerprints[series * 2 + 1]! };
  }

  /** The identity of a series: a view, valid until the batch ends. */
  identityOf(series: number): Uint8Array {
    const { kernels } = this;
    const at = kernels.textAt(this.#identities, series);
    return this.memory.uint8(at, kernels.textLength(this.#identities, series));
  }

  /** The hash of a series and a number of 64 bits, as the halves of a fingerprint. */
  hashWithNumber(series: number, low: number, high: number): { low: number; high: number } {
    const { kernels } = this;
    const length = kernels.textLength(this.#identities, series);
    const [room, out] = [this.#bytes.reserve(length + 8), this.#fingerprint.byteOffset];
    kernels.fingerprintWithNumber(kernels.textAt(this.#identities, series), length, low, high, room, out);
    return { low: this.#fingerprint[0]!, high: this.#fingerprint[1]! };
  }

  /** Returns the number of the text at an address; a new text gets the next number. */
  numberText(at: number, length: number): number {
    return this.kernels.internText(this.#names, at, length);
  }

  /** The number that the series has in the present batch; -1 where it has none yet. */
  numberOf(series: number): number {
    return this.#batches[series] === this.batch ? this.#numbers[series]! : -1;
  }

  setNumber(series: number, number: number): void {
    this.#batches[series] = this.batch;
    this.#numbers[series] = number;
  }

  /** The identities of some series, one after the other: a view, valid until it is asked for others. */
  identitiesOf(series: Uint32Array): TextVector {
    const { kernels, memory } = this;
    const codes = this.#bytes.place(series);
    const offsets = this.#offsets.reserve((series.length + 1) * 4);
    const byteLength = kernels.placeTexts(this.#identities, codes, series.length, offsets);
    const bytes = this.#texts.reserve(byteLength);
    kernels.gatherSomeTexts(this.#identities, codes, series.length, bytes);
    return { offsets: memory.uint32(offsets, series.length + 1), bytes: memory.uint8(bytes, byteLength) };
  }

  /** The number of a unit, given now where it has none. */
  numberUnit(bytes: Uint8Array, from: number, to: number): number {
    return this.kernels.internText(this.#units, this.#bytes.place(bytes.subarray(from, to)), to - from);
  }

  /** The units by their numbers: a view, valid until it is asked for others. */
  units(): TextVector {
    const { kernels, memory } = this;
    const [count, byteLength] = [kernels.textCount(this.#units), kernels.textBytes(this.#units)];
    const offsets = this.#unitOffsets.reserve((count + 1) * 4);
    const bytes = this.#unitTexts.reserve(byteLength);
    kernels.gatherTexts(this.#units, offsets, bytes);
    return { offsets: memory.uint32(offsets, count + 1), bytes: memory.uint8(bytes, byteLength) };
  }

  /** What the samples of an alias declare. */
  declarationOf(alias: number): Readonly<SeriesDeclaration> {
    return this.#declarations[alias]!;
  }

  /** Notes that the kernels' present key is an alias of the series. Does nothing where there is none. */
  noteAlias(declaration: SeriesDeclaration): void {
    const alias = this.kernels.noteAlias();
    if (alias >= 0) this.#declarations[alias] = declaration;
  }

  #grow(): void {
    const length = this.#batches.length * 2;
    this.#batches = growArray(this.#batches, length);
    this.#numbers = growArray(this.#numbers, length);
    this.#fingerprints = growArray(this.#fingerprints, length * 2);
  }
}

/** Room that is used again and again, and grows. */
class Room {
  readonly #memory: BlockMemory;
  #at = 0;
  #byteLength = -1;

  constructor(memory: BlockMemory) {
    this.#memory = memory;
  }

  /** Room for so many bytes, with any content. Returns its address. */
  reserve(byteLength: number): number {
    if (byteLength > this.#byteLength) {
      this.#byteLength = byteLength + (byteLength >> 1);
      this.#at = this.#memory.reserve(this.#byteLength);
    }
    return this.#at;
  }

  place(vector: Uint8Array | Uint32Array): number {
    return this.#memory.copyNear(this.reserve(vector.byteLength), vector).byteOffset;
  }
}
