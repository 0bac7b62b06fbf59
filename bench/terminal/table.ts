/** A column of a printed table: its heading and the alignment of its cells. */
export interface TableColumn {
  title: string;
  align: "left" | "right";
}

export function makeRightColumns(titles: readonly string[]): TableColumn[] {
  return titles.map((title) => ({ title, align: "right" }));
}

/** Formats a heading, a rule and the rows as aligned lines. */
export function formatTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ align }, at) =>
        align === "left" ? (cells[at] ?? "").padEnd(widths[at]!) : (cells[at] ?? "").padStart(widths[at]!),
      )
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return `${[line(columns.map(({ title }) => title)), rule, ...rows.map(line)].join("\n")}\n`;
}

/** Groups thousands with commas in every locale. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats milliseconds with about three digits. */
export function formatMs(ms: number): string {
  if (ms >= 100) return formatCount(Math.round(ms));
  return ms >= 10 ? ms.toFixed(1) : ms.toFixed(2);
}

export function formatMegabytes(bytes: number): string {
  return formatCount(Math.round(bytes / 1e6));
}
