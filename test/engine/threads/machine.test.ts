/** What a process may use in a container, and on a machine without one. */
import { totalmem } from "node:os";
import { afterEach, expect, test, vi } from "vitest";
import { listCgroupLimits, readMemoryBytes } from "../../../engine/threads/machine.ts";

afterEach(() => void vi.restoreAllMocks());

const GiB = 2 ** 30;
const readNothing = () => undefined;

test.each([
  ["a container of 256 MiB", GiB / 4, GiB / 4],
  ["no limit known", 0, totalmem()],
  // What Node answers where a group of processes has no limit.
  ["no limit set", 2 ** 64, totalmem()],
])("%s", (_, allowed, bytes) => {
  vi.spyOn(process, "constrainedMemory").mockReturnValue(allowed);
  expect(readMemoryBytes(readNothing)).toBe(Math.min(bytes, totalmem()));
});

/** Reads the files of a made-up machine. */
function makeReader(files: Record<string, string>): (path: string) => string | undefined {
  return (path) => files[path];
}

test("a limit of a group around the process's own counts", () => {
  vi.spyOn(process, "constrainedMemory").mockReturnValue(0);
  const files = makeReader({
    "/proc/self/cgroup": "0::/pod/app\n",
    "/sys/fs/cgroup/pod/app/memory.max": "max\n",
    "/sys/fs/cgroup/pod/memory.max": "300000000\n",
  });
  expect(listCgroupLimits(files)).toEqual([300_000_000]);
  expect(readMemoryBytes(files)).toBe(300_000_000);
});

test("version 1 has the controller's name, and a container sees its own limit at the root", () => {
  const files = makeReader({
    "/proc/self/cgroup": "9:name=systemd:/a\n4:cpu,memory:/kubepods/b\n1:cpu:/c\n0::/\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
  });
  expect(listCgroupLimits(files)).toEqual([GiB / 2]);
});

test("without /proc there is none", () => {
  expect(listCgroupLimits(readNothing)).toEqual([]);
});
