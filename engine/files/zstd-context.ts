/**
 * zstd contexts that are kept from frame to frame.
 *
 * A call of `zstdCompressSync` or `zstdDecompressSync` makes a context and a stream of Node, and throws both away. For
 * payloads of a few kilobytes, of which a chunk of wide events has hundreds, that takes longer than the work: 0.1 to 0.4 ms
 * more for each. A stream of Node can be used again and again where its handle is called directly, as `minizlib` does. The
 * handle is not documented, so callers must be able to do without: see `openCompressor` and `openDecompressor`.
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
    const { _handle: handle, _writeState: state } = stream as {
      _handle?: StreamHandle;
      _writeState?: unknown;
    };
    if (typeof handle?.writeSync !== "function") return undefined;
    if (!(state instanceof Uint32Array) || state.length !== 2) return undefined;
    return new ZstdContext(handle, state);
  }

  /**
   * Compresses or decompresses one whole frame into `output`. Returns how many bytes were written, or undefined where that
   * failed: `input` is damaged or `output` is too short. A context that has failed must not be used again.
   */
  writeFrame(input: Uint8Array, output: Uint8Array): number | undefined {
    const end = zlibConstants.ZSTD_e_end;
    this.#handle.writeSync(end, input, 0, input.byteLength, output, 0, output.byteLength);
    const [outputLeft, inputLeft] = this.#state;
    if (this.#hasFailed || inputLeft !== 0) return undefined;
    return output.byteLength - outputLeft!;
  }
}
