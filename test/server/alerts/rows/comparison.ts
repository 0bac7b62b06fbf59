/** Compares what was told with what should have been. */
import { expect } from "vitest";
import type { ModelFire, Outcome } from "./model.ts";
import { beginMs, type RowsWorld, second } from "./world.ts";

/**
 * Every fire that the rows demand was stored, and told unless it was over for long; what they forbid was not, or was taken
 * back. An end that was told stays told: a fire may have ended at another time than the rows say now, or goes on as a
 * second one. `where` says in failures how to come back.
 */
export function compare(world: RowsWorld, { fires, forbidden }: Outcome, where: string): void {
  const stored = world.fires();
  const standing = stored
    .filter(({ reason }) => reason !== "corrected")
    .map(({ labels, firedAtMs: fromMs, resolvedAtMs: toMs }) => ({ name: labels.name ?? "", fromMs, toMs }));
  const all = `${where}\ntold ${print(standing)}\nwanted ${print(fires)}`;
  const missing = fires.filter((fire) => !standing.some((each) => overlap(each, fire)));
  expect(missing.map(String), all).toEqual([]);
  const uncalledFor = standing.filter((each) => !fires.some((fire) => overlap(each, fire)));
  expect(uncalledFor, all).toEqual([]);
  const open = (each: { toMs: number | null }) => each.toMs === null;
  expect(
    standing
      .filter(open)
      .map(({ name }) => name)
      .sort(),
    all,
  ).toEqual(
    fires
      .filter(open)
      .map(({ name }) => name)
      .sort(),
  );
  for (const fire of fires) {
    // Somewhere in it the rows as they are stored do let the rule fire.
    expect(forbidden.get(fire.name)?.has(fire.fromMs) ?? false, all).toBe(false);
  }
  compareEvents(world, all);
}

/** Each begin and each end once, and an end only of what has begun. */
function compareEvents(world: RowsWorld, all: string): void {
  const events = world.events().map(({ type, fireId }) => `${type} ${fireId}`);
  expect(new Set(events).size, all).toBe(events.length);
  for (const { id, told, resolvedAtMs, reason } of world.fires()) {
    const isQuiet = told === "unseen" || (told === "no" && reason === "corrected");
    expect(isQuiet || told === "yes", `${told} ${reason} ${all}`).toBe(true);
    expect(events.includes(`alertFired ${id}`), all).toBe(!isQuiet);
    expect(events.includes(`alertResolved ${id}`), all).toBe(!isQuiet && resolvedAtMs !== null);
  }
  expect(events.length, all).toBe(
    world.fires().reduce((sum, { told, resolvedAtMs }) => {
      return sum + (told !== "yes" ? 0 : resolvedAtMs === null ? 1 : 2);
    }, 0),
  );
}

type Time = Pick<ModelFire, "name" | "fromMs" | "toMs">;

function overlap(a: Time, b: Time): boolean {
  const [aToMs, bToMs] = [a, b].map(({ toMs }) => toMs ?? Number.POSITIVE_INFINITY) as [number, number];
  return a.name === b.name && a.fromMs < bToMs && b.fromMs < aToMs;
}

function print(fires: readonly Time[]): string {
  const at = (ms: number | null) => (ms === null ? "open" : (ms - beginMs) / second);
  return fires
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.fromMs - b.fromMs))
    .map(({ name, fromMs, toMs }) => `${name} ${at(fromMs)}-${at(toMs)}`)
    .join(", ");
}
