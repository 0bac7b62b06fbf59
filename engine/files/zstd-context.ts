/**
 * zstd contexts that are kept from frame to frame.
 *
 * A call of `zstdCompressSync` or `zstdDecompressSync` makes a context of zstd and a stream of Node, and throws both away.
 * For payloads of a few kilobytes, of which a chunk of wide events has hundreds, that takes longer than the work: 0.1 to
 * 0.4 ms more for each. A stream can be used again and again where the object behind it, its handle, is called directly, as
 * `minizlib` does. The handle is not documented, so it is called only in versions of Node in which that was tried, and
 * callers must be able to do without.
 */
import {
  createZstdCompress,
  createZstdDecompress,
  type ZstdOptions,
  constants as zlibConstants,
} from "node:zlib";

/** What is called of the handle of a stream for compression or decompression. */
interface StreamHandle {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputFrom: number,
    inputBytes: number,
    output: Uint8Array,
    outputFrom: number,
    outputBytes: number,
  ): void;
  onerror: () => void;
}

/** What Node keeps in such a stream. */
interface StreamParts {
  _handle?: StreamHandle;
  /** Set by each call: bytes of the output that were not written, bytes of the input that were not read. */
  _writeState?: unknown;
}

/** Major versions of Node in which the handle takes these arguments. With others a call might end the process. */
const triedVersions: readonly (string | undefined)[] = ["22", "24"];

/** The first four bytes of a frame of zstd. */
const magic = 0xfd2fb528;
/** Bytes of the header of a block: its last bit says whether it is the last one. */
const blockHeaderBytes = 3;
/** The kind of a block that repeats one byte (RFC 8878, section 3.1.1.2). */
const repeatedByte = 1;

/**
 * Whether the bytes are one frame from its beginning to its end, as its header and the headers of its blocks say. A context
 * that was given less would take the beginning of the next frame for the rest.
 */
export function isWholeFrame(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 6 || view.getUint32(0, true) !== magic) return false;
  const descriptor = bytes[4]!;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const contentSizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]!;
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3]!;
  let at = 5 + (isSingleSegment ? 0 : 1) + dictionaryIdBytes + contentSizeBytes;
  for (let isLast = false; !isLast; ) {
    if (at + blockHeaderBytes > bytes.byteLength) return false;
    const header = view.getUint16(at, true) | (bytes[at + 2]! << 16);
    isLast = (header & 1) !== 0;
    at += blockHeaderBytes + (((header >> 1) & 3) === repeatedByte ? 1 : header >> 3);
  }
  const checksumBytes = (descriptor & 4) !== 0 ? 4 : 0;
  return at + checksumBytes === bytes.byteLength;
}

/** A context that compresses or decompresses. It is opened at the first call, and again at the next one after a failure. */
export class ZstdContext {
  readonly #openStream: () => object;
  #stream: { handle: StreamHandle; state: Readonly<Uint32Array> } | undefined;
  #canBeOpened = triedVersions.includes(process.versions.node.split(".")[0]);
  #hasFailed = false;

  private constructor(openStream: () => object) {
    this.#openStream = openStream;
  }

  /** Whether this version of Node has a handle that can be called. */
  get canRun(): boolean {
    this.#stream ??= this.#open();
    return this.#stream !== undefined;
  }

  static compressor(params: ZstdOptions["params"]): ZstdContext {
    return new ZstdContext(() => createZstdCompress({ params }));
  }

  static decompressor(): ZstdContext {
    return new ZstdContext(createZstdDecompress);
  }

  /**
   * Compresses a payload, or decompresses a whole frame, into `output`. Returns how many bytes were written; undefined where
   * `input` is damaged, `output` is too short, or this version of Node has no handle that can be called.
   */
  run(input: Uint8Array, output: Uint8Array): number | undefined {
    if (!this.canRun) return undefined;
    const { handle, state } = this.#stream!;
    this.#hasFailed = false;
    // Compression ends the frame; decompression ignores it.
    const end = zlibConstants.ZSTD_e_end;
    handle.writeSync(end, input, 0, input.byteLength, output, 0, output.byteLength);
    const [outputLeft, inputLeft] = state;
    if (!this.#hasFailed && inputLeft === 0) return output.byteLength - outputLeft!;
    this.#stream = undefined;
    return undefined;
  }

  #open() {
    if (!this.#canBeOpened) return undefined;
    const { _handle: handle, _writeState: state } = this.#openStream() as StreamParts;
    if (typeof handle?.writeSync !== "function" || !(state instanceof Uint32Array) || state.length !== 2) {
      this.#canBeOpened = false;
      return undefined;
    }
    // Node's own function would destroy the stream and throw later, where nobody could catch the error.
    handle.onerror = () => {
      this.#hasFailed = true;
    };
    return { handle, state };
  }

  /** Drops what a frame left behind that was shorter or longer than its caller expected. */
  reset(): void {
    this.#stream = undefined;
  }
}
