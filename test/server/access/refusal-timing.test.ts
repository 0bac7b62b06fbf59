/**
 * How long it takes to refuse a token tells nothing of its secret; nor, but for some tens of nanoseconds that no
 * network carries, whether its id exists, which is no secret. Measured in the long form alone (`npm run soak`), as
 * dudect does (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?"): kinds of tokens in random order, each
 * sample the time of some refusals; the slowest tenth, which the machine made slow, is left out; Welch's t between
 * kinds, and between two halves of one kind for comparison.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openState } from "../../../engine/index.ts";
import { mintToken, Tokens } from "../../../server/access/tokens.ts";
import { randomOf } from "../control/random.ts";

const isLong = process.env.SVC_SOAK === "1";
const samples = isLong ? 30_000 : 50;
const refusalsOfSample = 20;

/** Another character of base64url. */
function other(char: string): string {
  return char === "A" ? "B" : "A";
}

test("refused tokens take as long as each other", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
  const state = await openState(dir);
  const tokens = new Tokens(state, Date.now);
  const made: string[] = [];
  for (let i = 0; i < 200; i++) {
    const { record, token } = mintToken({ name: "t", role: "viewer", expiresAtMs: null }, Date.now());
    await tokens.add(record);
    made.push(token);
  }
  const secretAt = made[0]!.lastIndexOf("_", made[0]!.length - 43) + 1;
  const kinds: Record<string, (token: string) => string> = {
    "unknown id": (token) => `svc_000000000000_${token.slice(secretAt)}`,
    "unknown id, again": (token) => `svc_000000000001_${token.slice(secretAt)}`,
    "first character wrong": (token) =>
      token.slice(0, secretAt) + other(token[secretAt]!) + token.slice(secretAt + 1),
    "second last wrong": (token) => `${token.slice(0, -2)}${other(token.at(-2)!)}${token.at(-1)}`,
  };
  const wrong = Object.values(kinds).map((change) => made.map(change));
  for (const token of wrong.flat()) expect(tokens.callerOf(token)).toBeNull();
  const times = measured(wrong, tokens);
  const [unknown, again, first, last] = times.map(trimmed) as [number[], number[], number[], number[]];
  if (isLong) {
    for (const [i, name] of Object.keys(kinds).entries()) {
      process.stdout.write(`${name}: ${moments(trimmed(times[i]!)).mean.toFixed(1)} ns a refusal\n`);
    }
    const [bySecret, byId, byNothing] = [welch(first, last), welch(unknown, first), welch(unknown, again)];
    const told = [bySecret, byId, byNothing].map((t) => t.toFixed(2)).join(", ");
    process.stdout.write(`t by secret, by whether the id exists, by nothing: ${told}\n`);
    // Beyond 10, dudect calls a difference certain; a comparison that ends early gives hundreds.
    expect(Math.abs(bySecret)).toBeLessThan(10);
    expect(Math.abs(moments(unknown).mean / moments(first).mean - 1)).toBeLessThan(0.1);
  }
  await state.close();
  rmSync(dir, { recursive: true });
});

/** Nanoseconds a refusal, by kind. */
function measured(wrong: readonly string[][], tokens: Tokens): number[][] {
  const random = randomOf(1);
  const times = wrong.map((): number[] => []);
  for (let i = 0; i < samples * wrong.length; i++) {
    const kind = Math.floor(random() * wrong.length);
    const token = wrong[kind]![Math.floor(random() * wrong[kind]!.length)]!;
    const startNs = process.hrtime.bigint();
    for (let j = 0; j < refusalsOfSample; j++) tokens.callerOf(token);
    times[kind]!.push(Number(process.hrtime.bigint() - startNs) / refusalsOfSample);
  }
  return times;
}

function trimmed(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length * 0.9));
}

function moments(of: readonly number[]): { mean: number; variance: number } {
  const mean = of.reduce((sum, x) => sum + x, 0) / of.length;
  return { mean, variance: of.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (of.length - 1) };
}

function welch(a: readonly number[], b: readonly number[]): number {
  const [left, right] = [moments(a), moments(b)];
  return (left.mean - right.mean) / Math.sqrt(left.variance / a.length + right.variance / b.length);
}
