/** Whatever holders take, each has no more than is left free, and the next one finds room. */
import { expect, test } from "vitest";
import { SharedBudget } from "../../../server/throttle/shared-budget.ts";
import { seededRandom } from "../../durability/campaign.ts";

test("one holder gets half, and several that take all they can get equal shares", () => {
  const budget = new SharedBudget(60);
  const takeAll = (holder: string) => {
    let taken = 0;
    while (budget.take(holder, 1)) taken++;
    return taken;
  };
  expect(takeAll("a")).toBe(30);
  expect(takeAll("b")).toBe(15);
  budget.give("a", 15);
  expect(budget.total).toBe(30);
  expect(["a", "b"].map(takeAll)).toEqual([7, 4]);
});

test("a holder never has more than was free when it took, and all that is given back is free again", () => {
  const random = seededRandom("shared budget");
  const max = 1_000;
  const budget = new SharedBudget(max);
  const held = new Map<string, number>();
  for (let step = 0; step < 20_000; step++) {
    const holder = `h${random.below(12)}`;
    const own = held.get(holder) ?? 0;
    const amount = 1 + random.below(80);
    if (random.below(3) === 0) {
      budget.give(holder, own);
      held.delete(holder);
    } else {
      const total = budget.total;
      const isTaken = budget.take(holder, amount);
      expect(isTaken).toBe(own + amount <= max - total - amount);
      if (isTaken) held.set(holder, own + amount);
    }
    expect(budget.total).toBe([...held.values()].reduce((sum, each) => sum + each, 0));
  }
  for (const [holder, own] of held) budget.give(holder, own);
  expect(budget.total).toBe(0);
});
