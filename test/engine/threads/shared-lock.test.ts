import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { SharedLock } from "../../../engine/threads/shared-lock.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

test(`exclusive work is alone, shared work is not, and both come in the order in which they asked (SVC_SEED=${seed})`, async () => {
  const random = new Random(seed);
  const lock = new SharedLock();
  const running = new Map<number, boolean>();
  const begun: number[] = [];
  let together = 0;
  const work = async (number: number, isExclusive: boolean): Promise<number> => {
    begun.push(number);
    running.set(number, isExclusive);
    together = Math.max(together, running.size);
    for (let steps = random.below(4); steps > 0; steps--) {
      if ([...running.values()].includes(true)) expect(running.size).toBe(1);
      await setImmediate();
    }
    running.delete(number);
    return number;
  };
  const ended: Promise<number>[] = [];
  for (let number = 0; number < 2_000; number++) {
    const isExclusive = random.oneIn(5);
    const hold = isExclusive ? lock.exclusive : lock.shared;
    ended.push(
      hold.call(
        lock,
        () => work(number, isExclusive),
        () => undefined,
      ) as Promise<number>,
    );
    if (random.oneIn(3)) await setImmediate();
  }
  const numbers = Array.from({ length: ended.length }, (_, i) => i);
  expect(await Promise.all(ended)).toEqual(numbers);
  expect(begun).toEqual(numbers);
  expect(together).toBeGreaterThan(1);
});

test("work that fails gives the lock to the next", async () => {
  const lock = new SharedLock();
  const fail = async () => {
    await sleep(1);
    throw new Error("as expected");
  };
  const check = () => undefined;
  const ended = [
    lock.exclusive(fail, check),
    lock.shared(fail, check),
    lock.exclusive(() => "done", check),
    lock.shared(() => "too", check),
  ];
  expect((await Promise.allSettled(ended)).map(({ status }) => status)).toEqual([
    ...["rejected", "rejected", "fulfilled", "fulfilled"],
  ]);
});

test("work that is not wanted any more does not wait, nor begin, and does not hold up others", async () => {
  const lock = new SharedLock();
  const held = Promise.withResolvers<void>();
  const holder = lock.shared(
    () => held.promise,
    () => undefined,
  );
  let isWanted = true;
  const check = () => {
    if (!isWanted) throw new Error("too late");
  };
  const begun: string[] = [];
  const alone = lock.exclusive(() => begun.push("alone"), check);
  const behind = lock.shared(
    () => begun.push("behind"),
    () => undefined,
  );
  await sleep(50);
  expect(begun).toEqual([]);
  isWanted = false;
  await expect(alone).rejects.toThrow("too late");
  await behind;
  held.resolve();
  await holder;
  await expect(lock.exclusive(() => begun.push("late"), check)).rejects.toThrow("too late");
  expect(begun).toEqual(["behind"]);
});
