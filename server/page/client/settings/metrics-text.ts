/** The server's own figures, out of the Prometheus text of /metrics. */

import { ApiProblem } from "../api/client.ts";

export interface Figure {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Rejects with ApiProblem. */
export async function loadMetrics(signal: AbortSignal): Promise<Figure[]> {
  const response = await fetch("/metrics", { signal });
  if (!response.ok) throw new ApiProblem("The server's figures are not for you to read.", response.status);
  return readMetrics(await response.text());
}

function readMetrics(text: string): Figure[] {
  return text.split("\n").flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match === null) return [];
    const [, name, labels = "", value] = match as unknown as [string, string, string | undefined, string];
    return [{ name, labels: readLabels(labels), value: Number(value) }];
  });
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
    labels[name!] = value!.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
  return labels;
}

/** The sums of a counter by its label `rule`. */
export function countsOf(figures: readonly Figure[], name: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { name: of, labels, value } of figures)
    if (of === name) counts.set(labels.rule ?? "", (counts.get(labels.rule ?? "") ?? 0) + value);
  return counts;
}

/** The sum of all figures of a name, or of those with some labels. */
export function sumOf(figures: readonly Figure[], name: string, labels: Record<string, string> = {}): number {
  return figures
    .filter(
      (each) =>
        each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
