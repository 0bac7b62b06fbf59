/**
 * zstd contexts that are kept from frame to frame.
 *
 * A call of `zstdCompressSync` or `zstdDecompressSync` makes a context and a stream of Node, and throws both away. For
 * payloads of a few kilobytes, of which a chunk of wide events has hundreds, that takes longer than the work: 0.1 to 0.4 ms
 * more for each. A stream of Node can be used again and again where its handle is called directly, as `minizlib` does. The
 * handle is not documented, so it is used in versions of Node in which it was tried, and callers must be able to do without.
 */
import {
  createZstdCompress,
  createZstdDecompress,
  type ZstdOptions,
  constants as zlibConstants,
} from "node:zlib";

/** The part of Node's handle of a stream that is used here. */
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

/** What the handle tells after a call: bytes of the output that are left, bytes of the input that are left. */
type StreamState = Readonly<Uint32Array>;

/** Major versions of Node whose handle is as described here. Others might end the process at a call. */
const triedVersions: readonly (string | undefined)[] = ["22", "24"];

const frameMagic = 0xfd2fb528;
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
  if (bytes.byteLength < 6 || view.getUint32(0, true) !== frameMagic) return false;
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

export class ZstdContext {
  readonly #handle: StreamHandle;
  readonly #state: StreamState;
  #hasFailed = false;

  private constructor(handle: StreamHandle, state: StreamState) {
    this.#handle = handle;
    this.#state = state;
    // Node's own would destroy the stream and throw later, where nobody could catch the error.
    handle.onerror = () => {
      this.#hasFailed = true;
    };
  }

  /** Returns undefined where this version of Node has other streams. */
  static openCompressor(params: ZstdOptions["params"]): ZstdContext | undefined {
    return ZstdContext.#open(createZstdCompress({ params }));
  }

  static openDecompressor(): ZstdContext | undefined {
    return ZstdContext.#open(createZstdDecompress());
  }

  static #open(stream: object): ZstdContext | undefined {
    if (!triedVersions.includes(process.versions.node.split(".")[0])) return undefined;
    const { _handle: handle, _writeState: state } = stream as {
      _handle?: StreamHandle;
      _writeState?: unknown;
    };
    if (typeof handle?.writeSync !== "function") return undefined;
    if (!(state instanceof Uint32Array) || state.length !== 2) return undefined;
    return new ZstdContext(handle, state);
  }

  /**
   * Compresses a payload, or decompresses a whole frame, into `output`. Returns how many bytes were written, or undefined
   * where that failed: `input` is damaged or `output` is too short. A context that has failed must not be used again.
   */
  run(input: Uint8Array, output: Uint8Array): number | undefined {
    // Ends a frame that is compressed; decompression ignores it.
    const end = zlibConstants.ZSTD_e_end;
    this.#handle.writeSync(end, input, 0, input.byteLength, output, 0, output.byteLength);
    const [outputLeft, inputLeft] = this.#state;
    if (this.#hasFailed || inputLeft !== 0) return undefined;
    return output.byteLength - outputLeft!;
  }
}
