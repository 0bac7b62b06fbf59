/** A column's heading, and on which side its cells stand. */
export interface Column {
  title: string;
  align: "left" | "right";
}

export function rightColumns(titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title, align: "right" }));
}

/** Rows of text in columns, as lines. */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
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

/** With commas between thousands, whatever the machine's locale. */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** Milliseconds with about three digits. */
export function shortMs(ms: number): string {
  if (ms >= 100) return grouped(Math.round(ms));
  return ms >= 10 ? ms.toFixed(1) : ms.toFixed(2);
}

export function megabytes(bytes: number): string {
  return grouped(Math.round(bytes / 1e6));
}
