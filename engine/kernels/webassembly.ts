/** The part of WebAssembly's interface that is used here; Node's types leave it to those of the browser. */
import { readFileSync } from "node:fs";

export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** @throws RangeError where the maximum is exceeded or the system has no more memory */
  grow(pages: number): number;
}

export interface Global {
  readonly value: number;
}

type Module = object;

interface WebAssemblyApi {
  RuntimeError: new () => Error;
  Memory: new (descriptor: { initial: number; maximum: number; shared: true }) => SharedMemory;
  Module: new (bytes: Uint8Array) => Module;
  Instance: new (module: Module, imports: { env: { memory: SharedMemory } }) => { readonly exports: object };
}

const api = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;

export const wasmPageBytes = 65_536;

export function createSharedMemory(initialPages: number, pagesMax: number): SharedMemory {
  return new api.Memory({ initial: initialPages, maximum: pagesMax, shared: true });
}

/** Whether an error is that of a kernel that could not go on, mostly for lack of memory. */
export function isTrap(error: unknown): boolean {
  return error instanceof api.RuntimeError;
}

/** Compiled once per thread. */
const kernelsModule = new api.Module(readFileSync(new URL("./kernels.wasm", import.meta.url)));

/** Instantiates the kernels over a memory. The caller names the type of their exports, which is not checked. */
export function instantiateKernels<Exports>(memory: SharedMemory): Exports {
  return new api.Instance(kernelsModule, { env: { memory } }).exports as Exports;
}
