/** The account of what queries keep: exact over tasks and queries, and refused where all keep too much together. */
import { array, assert as assertProperty, integer, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chargeState,
  closeCharge,
  closeTaskCharge,
  makeQueryMemory,
  openCharge,
  openTaskCharge,
} from "../../engine/plan/query-memory.ts";

const KiB = 1024;

describe("the memory of queries", () => {
  test("is free again once tasks and queries have ended, whatever they kept", () => {
    const tasks = array(array(integer({ min: 0, max: 1_000 * KiB }), { maxLength: 5 }), { maxLength: 8 });
    assertProperty(
      property(tasks, integer({ min: 0, max: 7 }), (kept, lost) => {
        const memory = makeQueryMemory(2 ** 30);
        const query = openCharge(memory);
        for (const [i, sizes] of kept.entries()) {
          // A copy, as a thread gets it with its task.
          const task = openTaskCharge(structuredClone({ ...query, memory, own: query.own }));
          for (const size of sizes) chargeState(task, size);
          const now = Math.ceil((sizes.at(-1) ?? 0) / KiB);
          expect(task.taskUnits).toBe(now);
          // The thread of one task ends before it says so.
          if (i !== lost) closeTaskCharge(task);
        }
        closeCharge(query);
        expect([...memory.counts]).toEqual([0, 0]);
      }),
    );
  });

  test("is all for one query, and refused above it", () => {
    const query = openCharge(makeQueryMemory(100 * KiB));
    chargeState(query, 100 * KiB);
    expect(() => chargeState(query, 101 * KiB)).toThrow(
      "the query keeps more than the 102400 bytes of groups and values that there are for queries; ask for fewer groups",
    );
  });

  test("is refused to a query with more than its part, and not to one with less", () => {
    const memory = makeQueryMemory(100 * KiB);
    const [large, small] = [openCharge(memory), openCharge(memory)];
    chargeState(large, 80 * KiB);
    expect(() => chargeState(small, 40 * KiB)).not.toThrow();
    expect(() => chargeState(large, 81 * KiB)).toThrow(
      "the 2 queries that run keep more than 102400 bytes of groups and values together, this one more than its part",
    );
    closeCharge(large);
    expect(() => chargeState(small, 100 * KiB)).not.toThrow();
  });
});
