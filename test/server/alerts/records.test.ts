/** How many ended fires are kept: some of each alert, and of all together no more than a store of fires should hold. */
import { expect, test } from "vitest";
import { resolvedFiresMax, resolvedFiresMin, resolvedFiresTotalMax } from "../../../server/alerts/limits.ts";
import { AlertRecords } from "../../../server/alerts/records.ts";
import type { Fire } from "../../../server/alerts/state/fire.ts";
import { Disk } from "./disk.ts";

function endedFire(alertId: string, i: number): Fire {
  return { id: `${alertId} ${i}`, alertId, firedAtMs: i, resolvedAtMs: i + 1 } as Fire;
}

test.each([
  // alerts, fires of each, kept of each in the end
  [10, resolvedFiresMax + 50, resolvedFiresMax],
  [1_000, 250, resolvedFiresTotalMax / 1_000],
  [50_000, 6, resolvedFiresMin],
])("%i alerts with %i fires that ended", (alerts, each, kept) => {
  const records = new AlertRecords(new Disk().open(), 1);
  const stored = new Map<string, Set<string>>();
  for (let i = 0; i < each; i++) {
    for (let alert = 0; alert < alerts; alert++) {
      const fire = endedFire(`a${alert}`, i);
      for (const { id, value } of records.fireChanges([fire])) {
        const ids = stored.get(id.split(" ")[0]!) ?? new Set<string>();
        stored.set(id.split(" ")[0]!, ids);
        if (value === undefined) expect(ids.delete(id)).toBe(true);
        else ids.add(id);
      }
    }
  }
  const counts = new Set([...stored.values()].map(({ size }) => size));
  expect([...counts]).toEqual([kept]);
  // The newest are kept.
  expect(stored.get("a3")!.has(`a3 ${each - kept}`)).toBe(true);
  const total = [...stored.values()].reduce((sum, { size }) => sum + size, 0);
  expect(total).toBeLessThanOrEqual(Math.max(resolvedFiresTotalMax, alerts * resolvedFiresMin));
});

test("the fires of one alert are listed without a look at those of others, the newest first", async () => {
  const process = new Disk().open();
  const records = new AlertRecords(process, 1);
  const fires = [
    endedFire("a", 1),
    endedFire("b", 2),
    endedFire("a", 3),
    { ...endedFire("a", 4), resolvedAtMs: null },
  ];
  await process.write(records.fireChanges(fires));
  records.noteFires(fires);
  expect(records.fires("a").map(({ id }) => id)).toEqual(["a 4", "a 3", "a 1"]);
  expect(new AlertRecords(process, 1).fires("a").map(({ id }) => id)).toEqual(["a 4", "a 3", "a 1"]);
});
