import { expect, test } from "vitest";
import { Audit } from "../../../server/control/audit.ts";
import { auditEntriesWaitingMax } from "../../../server/control/limits.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { Disk } from "../alerts/disk.ts";

const by = { name: "ops", role: "admin", groups: [], tokenId: "t" } as never;

test("entries that cannot be moved to the logs are bounded: then nothing is changed, until they can be", async () => {
  const state = new Disk().open();
  let isBroken = true;
  let moved = 0;
  const audit = new Audit({
    state,
    now: Date.now,
    append: async (rows) => {
      if (isBroken) throw new Error("the logs take nothing");
      moved += rows.length;
    },
    log: () => undefined,
  });
  const change = (i: number) => {
    const changes = [{ table: "things", id: String(i), value: i }];
    const audited = { by, action: "created", resource: "thing", id: String(i), title: String(i) } as const;
    return audit.commit(audited, changes, (all) => state.write(all));
  };
  for (let i = 0; i < auditEntriesWaitingMax; i++) await change(i);
  const refused = await change(-1).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Refusal);
  expect((refused as Refusal).status).toBe(503);
  expect([state.count("things"), state.count("audit")]).toEqual([
    auditEntriesWaitingMax,
    auditEntriesWaitingMax,
  ]);
  isBroken = false;
  await change(-1).catch(() => undefined);
  await audit.close();
  await change(-1);
  await audit.close();
  expect(moved).toBe(auditEntriesWaitingMax + 1);
  expect(state.count("audit")).toBe(0);
}, 30_000);
