/** Headers whose columns and lists of values stay JSON until they are asked for, against JSON.parse of the whole. */

import { describe, expect, test } from "vitest";
import type { ChunkHeader, ColumnHeader, ColumnRole } from "../../../engine/chunk/chunk-header.ts";
import { openHeader } from "../../../engine/chunk/opened-header.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const random = new Random(seed);
const hostile = [
  ']],"payloadBytes":1},{"role":"attribute"',
  '"values":[["a",1]]',
  '\\"values":[',
  '{"role":"level","key":""',
  "]",
  "]]},",
  "]],",
  "]]}",
  "},{",
  "[[",
  '\\"',
  "\\",
  "\u2028 é 😀",
  "",
  '0,"values":0',
];
const text = () => Array.from({ length: random.below(3) }, () => random.pick(hostile)).join("");

function makeColumn(role: ColumnRole): ColumnHeader {
  const column: ColumnHeader = {
    role,
    key: text(),
    encoding: "text",
    present: random.below(9),
    payloadBytes: 0,
    filterBytes: 0,
  };
  if (random.oneIn(2))
    column.values = Array.from({ length: random.below(4) }, () => [text(), random.below(1_000)]);
  if (random.oneIn(3)) Object.assign(column, { min: -1.5, max: 1e300 });
  if (random.oneIn(2)) Object.assign(column, { checksum: 1, storedBytes: 12 });
  return column;
}

const makeHeader = (columns: number): ChunkHeader => ({
  ...{ rows: 9, timeNsMin: 0, timeNsMax: 8, arrivalMin: 1, arrivalMax: 9 },
  ...(random.oneIn(2) ? { arrivalBase: 7 } : {}),
  columns: Array.from({ length: columns }, () =>
    makeColumn(random.pick(["attribute", "level", "message", "rest"])),
  ),
});

function checkOpened(json: string, header: ChunkHeader): void {
  const { header: outline, listedValues } = openHeader(Buffer.from(json));
  const withoutValues = ({ values, ...column }: ColumnHeader) => column;
  const columns = header.columns.map(withoutValues);
  // In any order, as queries ask. Many of them have the columns indexed.
  const rounds = columns.length === 0 ? 0 : random.oneIn(8) ? 150 : 2 * columns.length;
  for (let round = 0; round < rounds; round++) {
    const index = random.below(columns.length);
    const { role, key } = columns[index]!;
    const first = columns.findIndex((column) => column.role === role && column.key === key);
    if (random.oneIn(2)) expect(outline.columns.find(role, key)).toBe(first);
    else expect(outline.columns.find("attribute", `${text()}?`)).toBe(-1);
    if (random.oneIn(2)) expect(outline.columns.get(index)).toEqual(columns[index]);
    if (random.oneIn(2)) expect(listedValues(index)).toEqual(header.columns[index]!.values);
  }
  for (const index of [-1, columns.length]) {
    expect(listedValues(index)).toBeUndefined();
    expect(outline.columns.get(index)).toBeUndefined();
  }
  expect(outline.columns.length).toBe(columns.length);
  expect({ ...outline, columns: outline.columns.all() }).toEqual({ ...header, columns });
  expect(columns.map((_, i) => listedValues(i))).toEqual(header.columns.map(({ values }) => values));
}

describe(`an opened header (SVC_SEED=${seed})`, () => {
  test("has the values of a parsed one", () => {
    for (let i = 0; i < 3_000; i++) {
      const header = makeHeader(random.below(6));
      checkOpened(JSON.stringify(header), header);
    }
  });

  test("has them where the members come in another order", () => {
    for (let i = 0; i < 1_000; i++) {
      const header = makeHeader(1 + random.below(4));
      const turned = header.columns.map((column) => Object.fromEntries(Object.entries(column).reverse()));
      checkOpened(JSON.stringify({ ...header, columns: turned }), header);
      checkOpened(JSON.stringify({ ...header, columns: turned }, null, 1), header);
    }
  });
});
