/** Random rows and random queries over several rows. */

import type { LogRow } from "../../../engine/index.ts";
import type { Random } from "../../../fixtures/random.ts";

export const startNs = 1_763_560_800_000_000_000n;
/** Milliseconds that the rows span. */
export const spanMs = 60_000;

const words = ["start", "step", "failed", "done", "retry"];
const pods = ["p0", "p1", "p2", ""];
const ids = ["t0", "t1", "t2", "t3", "t4", "t5", ""];

export function randomRows(random: Random, count: number): LogRow[] {
  return Array.from({ length: count }, () => randomRow(random)).sort((a, b) => Number(a.timeNs - b.timeNs));
}

/** Many rows share their time. */
function randomRow(random: Random): LogRow {
  const stepNs = chance(random, 0.5) ? 1_000_000_000n : 1_234_567n;
  const at = BigInt(random.between(0, Math.floor((spanMs * 1e6) / Number(stepNs))));
  return {
    timeNs: startNs + at * stepNs,
    level: random.pick(["info", "ERROR", "warn", ""]),
    message: `${random.pick(words)} ${random.pick(words)} of ${random.between(0, 3)}`,
    attributes: labelled({
      pod: random.pick(pods),
      id: random.pick(ids),
      took: String(random.between(0, 9)),
    }),
  };
}

export function randomSpans(random: Random, count: number): LogRow[] {
  return randomRows(random, count).map((row, i) => ({
    ...row,
    level: "",
    message: "",
    attributes: labelled({
      trace_id: row.attributes.id ?? "",
      span_id: `s${i}`,
      name: random.pick(["GET /", "POST /", "pay"]),
      "service.name": random.pick(["web", "pay", ""]),
      duration_ms: String(random.between(1, 2_000)),
    }),
  }));
}

function labelled(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ""));
}

/** A query, such as `logs |= "a" | x = lag(message) by (pod) | x != ""`. */
export function randomQuery(random: Random): string {
  const stages = Array.from({ length: random.between(1, 3) }, (_, i) => orderedStage(random, `x${i}`));
  const own = chance(random, 0.4) ? [ownStage(random)] : [];
  const behind = chance(random, 0.6) ? [filterStage(random, stages.length)] : [];
  const format = chance(random, 0.2) ? [formatStage(random)] : [];
  return ["logs", ...own, ...stages, ...behind, ...format].join(" ");
}

/** A search with formats before and between filters. */
export function randomFormatQuery(random: Random): string {
  const stages = Array.from({ length: random.between(1, 3) }, () => [formatStage(random), ownStage(random)]);
  return ["logs", ...(chance(random, 0.5) ? [ownStage(random)] : []), ...stages.flat()].join(" ");
}

function formatStage(random: Random): string {
  return random.pick([
    '| line_format "{{.pod}} {{.x0}} {{__line__}}"',
    '| line_format "{{ .log_level | upper | default \\"NONE\\" }}: {{__line__ | trunc 8}}"',
    '| line_format `{{.took | replace "1" "one"}} at {{__timestamp__}} start`',
    "| label_format took = id, id = took",
    '| label_format x0 = "{{.pod | default `none`}}-{{.took}}", pod = log_level',
    '| label_format "a label" = "{{.message | lower}}"',
  ]);
}

function ownStage(random: Random): string {
  return random.pick([
    '|= "start" or "failed"',
    '!= "done"',
    '| pattern "<first> <second> of <n>" | n > 0',
    '| pattern "<first> <second> of <n>"',
    '| log_level = "error" or took > 4',
    '| pod != ""',
  ]);
}

function groups(random: Random): string {
  return random.pick([" by (pod)", " by (id)", " by (pod, id)", " by (log_level)", ""]);
}

function within(random: Random): string {
  return chance(random, 0.5) ? ` within ${random.pick(["1s", "5s", "20s", "1500ms"])}` : "";
}

function orderedStage(random: Random, label: string): string {
  switch (random.between(0, 5)) {
    case 0:
      return sequence(random);
    case 1:
      return `| ${random.pick(["first", "last"])}${random.pick([" by (pod)", " by (id)", " by (pod, id)"])}`;
    case 2:
      return join(random);
    case 3: {
      const op = random.pick(["since_previous", "until_next", "since_first", "row_number"]);
      const bound = op === "row_number" ? "" : within(random);
      return `| ${label} = ${op}()${groups(random)}${bound}`;
    }
    default: {
      const op = random.pick(["lag", "lead", "first", "last"]);
      const of = random.pick(["message", "log_level", "took", "id", "timestamp", "x0"]);
      const count = (op === "lag" || op === "lead") && chance(random, 0.4) ? `, ${random.between(1, 4)}` : "";
      return `| ${label} = ${op}(${of}${count})${groups(random)}${within(random)}`;
    }
  }
}

function sequence(random: Random): string {
  const count = random.between(1, 4);
  const nots = Array.from({ length: count }, () => chance(random, 0.3));
  // Two steps with `not` do not stand side by side, and one is without.
  for (let i = 1; i < count; i++) if (nots[i - 1]) nots[i] = false;
  if (nots.every(Boolean)) nots[0] = false;
  const steps = nots.map((isNot) => `${isNot ? "not " : ""}${sequenceStep(random)}`);
  const bound = ` within ${random.pick(["1s", "5s", "20s", "1500ms"])}`;
  return `| sequence (${steps.join(" then ")})${groups(random)}${bound}`;
}

function sequenceStep(random: Random): string {
  return random.pick([
    ...words.map((word) => `|= "${word}"`),
    'log_level = "error"',
    "took >= 5",
    '|= "start" | took < 5',
    'took = "1" or pod = "p1"',
    '|~ "^(done|step)" != "of 0"',
  ]);
}

function join(random: Random): string {
  const spans = random.pick([
    "traces",
    "traces{duration_ms > 1s}",
    'traces{service.name="web"}',
    "traces | first by (trace_id)",
    "traces | n = row_number() by (trace_id) | n = 2",
  ]);
  const word = chance(random, 0.3) ? "unless" : "join";
  return `| ${word} (${spans}) on (id = trace_id)${within(random)}`;
}

function filterStage(random: Random, stages: number): string {
  const label = `x${random.between(0, stages - 1)}`;
  return random.pick([
    `| ${label} != ""`,
    `| ${label} > 2s or ${label} = "error"`,
    `| ${label} >= 2`,
    `| ${label} =~ "start.*|info|t[0-3]|p1"`,
    `| ${label} = "" and took > 3`,
    `| not_there = "" and (${label} = "5" or ${label} =~ ".*of 1")`,
    '|= "step"',
    '| sequence_ms > 1500ms or sequence_ms = ""',
    '| traces.name = "pay" or traces.duration_ms < 500ms',
    '| log_level != "warn"',
  ]);
}

function chance(random: Random, share: number): boolean {
  return random.below(1_000) < share * 1_000;
}
