/** Tables of what investigations found. */

import { formatTable, makeRightColumns } from "../terminal/table.ts";
import type { Case } from "./case.ts";
import { isRightKind } from "./right-kinds.ts";

const percent = (part: number, all: number) => (all === 0 ? "–" : `${Math.round((100 * part) / all)} %`);
const count = (cases: readonly Case[], isCounted: (each: Case) => boolean) => cases.filter(isCounted).length;

/**
 * By type of fault: AS@1, AS@3, how many of the first suspects that are right have the right kind of cause, shares of
 * answers and of right ones among them, and medians of milliseconds and rows; then the same of all.
 */
export function formatFaults(cases: readonly Case[]): string {
  const groups = [...Map.groupBy(cases, ({ fault }) => fault!.type), ["all", cases] as const];
  const titles = [
    "fault",
    "faults",
    "AS@1",
    "AS@3",
    "right kind",
    "answered",
    "right of them",
    "median",
    "rows read",
  ];
  const rows = groups.map(([type, own]) => {
    const answered = own.filter(({ isAnswered }) => isAnswered);
    const first = own.filter(({ place }) => place === 1);
    return [
      ...[type, String(own.length)],
      percent(
        count(own, ({ place }) => place === 1),
        own.length,
      ),
      percent(
        count(own, ({ place }) => place >= 1 && place <= 3),
        own.length,
      ),
      percent(count(first, isRightKind), first.length),
      percent(answered.length, own.length),
      percent(
        count(answered, ({ place }) => place === 1),
        answered.length,
      ),
      `${medianOf(own.map(({ ms }) => ms))} ms`,
      medianOf(own.map(({ rows }) => rows)).toLocaleString("en"),
    ];
  });
  return formatTable(makeRightColumns(titles), rows);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const steps = [0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.01];

/** How often the first suspect is the cause, by the confidence in it. */
export function formatCalibration(cases: readonly Case[]): string {
  const titles = ["confidence", "windows", "right"];
  const rows = steps.slice(0, -1).flatMap((from, i) => {
    const own = cases.filter(
      ({ confidence }) => confidence > 0 && confidence >= from && confidence < steps[i + 1]!,
    );
    if (own.length === 0) return [];
    const to = Math.min(1, steps[i + 1]!);
    return [
      [
        `${percent(from, 1)} to ${percent(to, 1)}`,
        String(own.length),
        percent(
          count(own, ({ place }) => place === 1),
          own.length,
        ),
      ],
    ];
  });
  return formatTable(makeRightColumns(titles), rows);
}

/**
 * For each type of fault: the confidence from which all other types and the healthy windows have nine of ten answers
 * right, and what answers from there on are worth for the type that was left out.
 */
export function formatLeftOut(cases: readonly Case[], healthy: readonly Case[]): string {
  const titles = ["left out", "AS@1", "from confidence", "answered", "right of them"];
  const rows = [...Map.groupBy(cases, ({ fault }) => fault!.type)].map(([type, own]) => {
    const others = [...cases.filter(({ fault }) => fault!.type !== type), ...healthy];
    const limit = findLimit(others);
    const answered = own.filter(({ confidence }) => confidence >= limit);
    return [
      ...[
        type,
        percent(
          count(own, ({ place }) => place === 1),
          own.length,
        ),
        limit.toFixed(2),
      ],
      percent(answered.length, own.length),
      percent(
        count(answered, ({ place }) => place === 1),
        answered.length,
      ),
    ];
  });
  return formatTable(makeRightColumns(titles), rows);
}

function findLimit(cases: readonly Case[]): number {
  for (let limit = 0.3; limit < 1; limit += 0.05) {
    const answered = cases.filter(({ confidence }) => confidence >= limit);
    if (count(answered, ({ place }) => place === 1) >= 0.9 * answered.length) return limit;
  }
  return 1;
}

export function formatHealthy(healthy: readonly Case[]): string {
  const wrong = count(healthy, ({ isAnswered }) => isAnswered);
  return `${healthy.length} healthy windows, ${wrong} of them answered: ${percent(wrong, healthy.length)} false\n`;
}
