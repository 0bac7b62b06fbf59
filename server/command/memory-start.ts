/**
 * Starts a process anew, under its id, with settings of memory that hold only from a process's start. glibc gives each
 * thread a heap of its own (an arena), in which what other threads freed stays: of 980 MB that loading two million rows
 * took, 140 were such (2 cores, `svc ingest --direct`). With two arenas for all threads loading is as fast.
 */
import { totalmem } from "node:os";

/**
 * The environment variable of glibc, and what it is set to where the user has not set it. After a server within 440 MiB took
 * half a million events of many attributes, 180 of 188 MB of the decoding and encoding threads' arena were free: in a single
 * arena the other threads use them.
 */
const arenas = { name: "MALLOC_ARENA_MAX", usual: 2, tight: 1 };
/**
 * glibc returns freed buffers of at least this size to the system at once. By default its limit rises to 32 MiB, and freed
 * buffers below it stay in the process. Measured, two million rows loaded: 1,050 MB by default, 50 of them free; with 1 MiB
 * the load takes as long. Events of many attributes have smaller buffers, so that the limit is lower where memory is scarce:
 * a load of them took 485 MB in place of 560, for 7 % more CPU time; a server within 440 MiB that received them, 430 MB in
 * place of 490, for 15 % more time. A server with more memory keeps the default, since searches allocate such buffers again.
 */
const mappedBytes = { name: "MALLOC_MMAP_THRESHOLD_", usual: 2 ** 20, scarce: 2 ** 16 };
/**
 * Has glibc ask the kernel for huge pages (2 MiB) in place of 4 KiB, where the kernel leaves that to programs. A load of two
 * million rows then has a fifth fewer page faults, and takes a tenth less time in virtual machines where faults are
 * expensive. A huge page may be used in part only, so this is left out where memory is scarce.
 */
const hugePages = { name: "GLIBC_TUNABLES", value: "glibc.malloc.hugetlb=1" };
/**
 * What a server's allocator keeps of freed memory where memory is not scarce: each buffer that is shorter than the first size,
 * and up to the second size of unused memory at the end of each heap. Queries decompress columns into such memory. By default
 * much of it is returned to the system, which then gives it back page by page. First questions took 15 to 25 % less time in
 * a virtual machine where page faults are expensive.
 */
const keptMemory = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(64 * 2 ** 20),
};
/** A server that may use less memory than this has one arena, and returns small freed buffers, too. */
const tightServerBytes = 2 ** 30;
/** Lets the engine have V8 look for unused objects: it does not count shared memory, in which rows are before they are sealed. */
const collectingFlag = "--expose-gc";
/**
 * V8 looks for unused objects of the main thread after so many bytes of new ones. With more, buffers that nobody uses
 * any more stay longer; with less, requests take more CPU time. So only where memory is scarce it is less than usual.
 */
const scarceYoungSpaceMiB = 4;
const scarceBytes = 2 * 2 ** 30;

/**
 * Replaces this process, once, which may take `memoryBytes` (undefined: half of what there is). Returns where it has
 * these settings, or cannot be replaced: on other systems than Linux, and as the child of a Node process that talks to
 * it.
 */
export function restartWithMemorySettings(use: "serve" | "load", memoryBytes: number | undefined): void {
  if (process.platform !== "linux" || process.connected || process.env[arenas.name] !== undefined) return;
  const mayTake = memoryBytes ?? readGivenBytes() / 2;
  const flags = [
    collectingFlag,
    ...(mayTake < scarceBytes ? [`--max-semi-space-size=${scarceYoungSpaceMiB}`] : []),
  ];
  const words = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)];
  const malloc = mallocSettings(use, mayTake);
  try {
    process.execve?.(process.execPath, words, { ...malloc, ...process.env });
  } catch {
    // The process works without these settings, too.
  }
}

/** Environment variables for the allocator of a process that may take `mayTake` bytes. */
export function mallocSettings(
  use: "serve" | "load",
  mayTake = readGivenBytes() / 2,
): Record<string, string> {
  const isScarce = mayTake < scarceBytes;
  const isTightServer = use === "serve" && mayTake < tightServerBytes;
  const settings: Record<string, string> = {
    [arenas.name]: String(isTightServer ? arenas.tight : arenas.usual),
  };
  if (use === "load") settings[mappedBytes.name] = String(isScarce ? mappedBytes.scarce : mappedBytes.usual);
  else if (isTightServer) settings[mappedBytes.name] = String(mappedBytes.scarce);
  else if (!isScarce) Object.assign(settings, keptMemory);
  if (!isScarce) settings[hugePages.name] = hugePages.value;
  return settings;
}

function readGivenBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
