/** Signals that follow several others, and are forgotten by them. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { joinSignals, withJoinedSignal } from "../../../server/throttle/joined-signal.ts";

test("a joined signal aborts with the first of its sources, for the same reason", () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const { signal } = joinSignals(a.signal, b.signal);
  expect(signal.aborted).toBe(false);
  b.abort("b ends");
  a.abort("a ends");
  expect([signal.aborted, signal.reason]).toEqual([true, "b ends"]);
  expect(joinSignals(new AbortController().signal, a.signal).signal.reason).toBe("a ends");
});

test("its sources hold nothing of a signal that was left", async () => {
  const stopping = new AbortController();
  const listeners = () => getEventListeners(stopping.signal, "abort").length;
  const joined = joinSignals(stopping.signal);
  expect(listeners()).toBe(1);
  joined.leave();
  expect(listeners()).toBe(0);
  const result = withJoinedSignal([stopping.signal], async (signal) => {
    expect(listeners()).toBe(1);
    return signal.aborted;
  });
  expect(await result).toBe(false);
  const failed = withJoinedSignal([stopping.signal], () => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  expect(listeners()).toBe(0);
  stopping.abort();
  expect(joined.signal.aborted).toBe(false);
});
