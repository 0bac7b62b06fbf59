import { afterEach, expect, test, vi } from "vitest";
import { SharedGarbage } from "../../../engine/threads/shared-garbage.ts";

afterEach(() => vi.unstubAllGlobals());

test("V8 looks for unused objects each time that enough shared memory is unused", () => {
  const gc = vi.fn();
  vi.stubGlobal("gc", gc);
  const garbage = new SharedGarbage(1_000);
  for (let i = 0; i < 9; i++) garbage.add(111);
  expect(gc).toHaveBeenCalledTimes(0);
  garbage.add(1);
  expect(gc).toHaveBeenCalledTimes(1);
  garbage.add(999);
  expect(gc).toHaveBeenCalledTimes(1);
  garbage.add(5_000);
  expect(gc).toHaveBeenCalledTimes(2);
});

test("a process that does not let it goes on", () => {
  vi.stubGlobal("gc", undefined);
  expect(() => new SharedGarbage(1).add(10)).not.toThrow();
});
