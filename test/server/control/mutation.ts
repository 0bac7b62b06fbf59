/** Mutations of JSON bodies with hostile values. */

import type { Random } from "./random.ts";
import { oneOf } from "./random.ts";

const hostile: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 0,
  () => 1e308,
  () => 2 ** 53,
  () => 0.1,
  () => "",
  () => " ",
  () => "\u0000",
  () => "\ud800",
  () => "\u202e\u{1f600}",
  () => "x".repeat(66_000),
  () => "(".repeat(5_000),
  () => "count(logs{a=~`(((((a+)+)+)+)+)+`})",
  () => "$a $__proto__ ${",
  () => "kubernetes-managed.a.b.c",
  () => "../../etc/passwd",
  () => [],
  () => [[[[]]]],
  () => ({}),
  () => ({ constructor: 1, toString: null, hasOwnProperty: 5 }),
  () => Array.from({ length: 300 }, () => ({})),
  () => nested(70),
];

const names = ["", "constructor", "toString", "id", "a.b", "\u0000", "x".repeat(300)];

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

type Container = Record<string, unknown>;

/** A copy with one to three changes at random places. */
export function mutate(body: unknown, random: Random): unknown {
  let copy = JSON.parse(JSON.stringify(body)) as unknown;
  const changes = 1 + Math.floor(random() * 3);
  for (let i = 0; i < changes; i++) copy = mutateOnce(copy, random);
  return copy;
}

function mutateOnce(body: unknown, random: Random): unknown {
  const positions = listPositions(body);
  if (positions.length === 0 || random() < 0.02) return oneOf(hostile, random)();
  const { at, key } = oneOf(positions, random);
  const kind = random();
  if (kind < 0.5) at[key] = oneOf(hostile, random)();
  else if (kind < 0.7) delete at[key];
  else if (kind < 0.85) shortenKey(at, key, random);
  else at[oneOf(names, random)] = oneOf(hostile, random)();
  return body;
}

function shortenKey(at: Container, key: string, random: Random): void {
  const cut = Math.floor(random() * key.length);
  at[key.slice(0, cut) + key.slice(cut + 1)] = at[key];
  delete at[key];
}

function listPositions(value: unknown): { at: Container; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const at = value as Container;
  return Object.keys(at).flatMap((key) => [{ at, key }, ...listPositions(at[key])]);
}
