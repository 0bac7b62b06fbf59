/** The kernels of automatons in WebAssembly. */
import type { AutomatonKernels } from "./automaton.ts";

/** What assembly/automaton.ts exports. Vectors are given by their addresses. */
export interface AutomatonExports {
  readTexts(
    bytes: number,
    offsets: number,
    rows: number,
    count: number,
    symbols: number,
    next: number,
    width: number,
    start: number,
    states: number,
  ): void;
  matchAfterPrefix(
    bytes: number,
    offsets: number,
    rows: number,
    places: number,
    count: number,
    prefixBytes: number,
    symbols: number,
    next: number,
    width: number,
    stateBefore: number,
    stateAfter: number,
    found: number,
  ): number;
}

export function makeAutomatonKernels(exports: AutomatonExports): AutomatonKernels<SharedArrayBuffer> {
  return {
    readTexts({ offsets, bytes }, rows, { symbols, next, width }, start, states) {
      exports.readTexts(
        bytes.byteOffset,
        offsets.byteOffset,
        rows === null ? 0 : rows.byteOffset,
        states.length,
        symbols.byteOffset,
        next.byteOffset,
        width,
        start,
        states.byteOffset,
      );
    },
    matchAfterPrefix({ offsets, bytes }, { byteLength, places, stateBefore, stateAfter }, table, found) {
      return exports.matchAfterPrefix(
        bytes.byteOffset,
        offsets.byteOffset,
        offsets.length - 1,
        places.byteOffset,
        places.length,
        byteLength,
        table.symbols.byteOffset,
        table.next.byteOffset,
        table.width,
        stateBefore,
        stateAfter,
        found.byteOffset,
      );
    },
  };
}
