/** What a process may use in a container, and on a machine without one. */
import { availableParallelism, totalmem } from "node:os";
import { afterEach, expect, test, vi } from "vitest";
import { countScanThreads, readMemoryBytes } from "../../../engine/threads/machine.ts";

afterEach(() => void vi.restoreAllMocks());

const GiB = 2 ** 30;

test.each([
  ["a container of 256 MiB", GiB / 4, GiB / 4, 1],
  ["a container of 1 GiB", GiB, GiB, Math.min(2, availableParallelism())],
  ["no limit known", 0, totalmem(), undefined],
  // What Node answers where a group of processes has no limit.
  ["no limit set", 2 ** 64, totalmem(), undefined],
])("%s", (_, allowed, bytes, threads) => {
  vi.spyOn(process, "constrainedMemory").mockReturnValue(allowed);
  expect(readMemoryBytes()).toBe(Math.min(bytes, totalmem()));
  const most = Math.min(availableParallelism(), Math.floor(totalmem() / (GiB / 2)));
  expect(countScanThreads()).toBe(threads ?? most);
});
