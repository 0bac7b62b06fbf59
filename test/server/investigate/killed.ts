/** Investigates fires over a state on disk and tells a receiver, until it is killed. */

import { openState } from "../../../engine/index.ts";
import { firedAtMs } from "../notify/events.ts";
import { makeAnswer, makeFire, openRig, request, sentTo } from "./fire-rig.ts";

const {
  dir,
  url,
  fires: count,
} = JSON.parse(process.argv[2]!) as { dir: string; url: string; fires: number };
const state = await openState(dir);
// They are too far apart to share a cause.
const fires = Array.from({ length: count }, (_, i) => makeFire(`alert-${i}`, i * 30 * 60_000));
const rig = openRig({
  ...{ state, fires: new Map(fires.map((fire) => [fire.id, fire])), now: () => firedAtMs + 10 ** 9 },
  investigate: async () => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
    return makeAnswer("cause");
  },
  send: async (delivery) => {
    const { status } = await fetch(url, { method: "POST", body: JSON.stringify(sentTo(delivery)) });
    return status === 200
      ? { kind: "delivered" }
      : { kind: "retry", problem: `status ${status}`, afterMs: 1 };
  },
});
if (state.count("investigation-requests") + state.count("investigations") === 0)
  await request(state, rig, fires);
rig.investigator.run();
rig.outbox.run();
process.stdout.write("began\n");
const isDone = () =>
  rig.requests.list().length === 0 && rig.outbox.list().every(({ status }) => status !== "waiting");
while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5));
await rig.investigator.close();
await rig.outbox.close();
await state.close();
process.stdout.write("done\n");
