/** The little of WebAssembly's interface that is used here: Node's types leave it to the browser's. */
import { readFileSync } from "node:fs";

export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** @throws RangeError where the maximum is passed or the system has no more memory */
  grow(pages: number): number;
}

export interface Global {
  readonly value: number;
}

type Module = object;

interface Interface {
  Memory: new (descriptor: { initial: number; maximum: number; shared: true }) => SharedMemory;
  Module: new (bytes: Uint8Array) => Module;
  Instance: new (module: Module, imports: { env: { memory: SharedMemory } }) => { readonly exports: object };
}

const api = (globalThis as unknown as { WebAssembly: Interface }).WebAssembly;

export const wasmPageBytes = 65_536;

export function sharedMemory(initialPages: number, pagesMax: number): SharedMemory {
  return new api.Memory({ initial: initialPages, maximum: pagesMax, shared: true });
}

/** Compiled once a thread. */
const kernels = new api.Module(readFileSync(new URL("./kernels.wasm", import.meta.url)));

/** The kernels' exports, which the caller knows the types of. */
export function instantiateKernels<Exports>(memory: SharedMemory): Exports {
  return new api.Instance(kernels, { env: { memory } }).exports as Exports;
}
