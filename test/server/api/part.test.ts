/** Parts are started and closed in order, and one that cannot start leaves nothing open. */

import { expect, test } from "vitest";
import { type Part, PartList } from "../../../server/api/part.ts";

/** Three parts that note what happens to them; the one at `failing` cannot be started. */
function threeParts(failing: number | null, closing: number | null = null) {
  const events: string[] = [];
  const parts = new PartList();
  for (let i = 0; i < 3; i++) {
    const part: Part = {
      routes: [],
      run: async () => {
        events.push(`run ${i}`);
        if (i === failing) throw new Error(`part ${i} cannot start`);
      },
      close: async () => {
        events.push(`close ${i}`);
        if (i === closing) throw new Error(`part ${i} cannot close`);
      },
    };
    parts.add(part);
  }
  return { parts, events };
}

test("parts are started from the first to the last and closed from the last to the first, once", async () => {
  const { parts, events } = threeParts(null);
  await parts.run();
  await parts.close();
  await parts.close();
  expect(events).toEqual(["run 0", "run 1", "run 2", "close 2", "close 1", "close 0"]);
});

test.each([0, 1, 2])(
  "where part %s of three cannot start, no later one is started and all are closed",
  async (failing) => {
    const { parts, events } = threeParts(failing);
    await expect(parts.run()).rejects.toThrow(`part ${failing} cannot start`);
    await parts.close();
    const started = [0, 1, 2].filter((i) => i <= failing).map((i) => `run ${i}`);
    expect(events).toEqual([...started, "close 2", "close 1", "close 0"]);
  },
);

test("one that cannot be closed keeps no other open", async () => {
  const { parts, events } = threeParts(null, 1);
  await expect(parts.close()).rejects.toThrow("part 1 cannot close");
  expect(events).toEqual(["close 2", "close 1", "close 0"]);
});
