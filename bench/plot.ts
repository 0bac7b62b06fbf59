/**
 * `node bench/plot.ts [FIGURES] [SVG]`: draws, from the figures of a run, how many times faster than the best peer svc
 * answers.
 */
import { readFile, writeFile } from "node:fs/promises";
import { questionKinds, questionShapes } from "./datasets/question.ts";
import { benchPath } from "./paths.ts";
import { ratioToBestPeer, warmMsOf } from "./report/ratio.ts";
import type { Report, SetFigure } from "./report/report.ts";

interface Bar {
  label: string;
  times: number;
  aim: number;
}

const width = 860;
const labelWidth = 270;
const valueWidth = 70;
const barHeight = 16;
const barGap = 8;
const headHeight = 54;
/** The axis is logarithmic. A bar to the left of 1 shows that a peer is faster. */
const axis = { least: 0.01, most: 1000 };

function barsOf({ systems }: SetFigure): Bar[] {
  return questionKinds.flatMap((kind) => {
    const times = ratioToBestPeer(systems, (figure) => warmMsOf(figure, kind));
    const { name, aim } = questionShapes[kind];
    return times === undefined ? [] : [{ label: name, times, aim }];
  });
}

function xOf(times: number): number {
  const bounded = Math.min(Math.max(times, axis.least), axis.most);
  const share = Math.log(bounded / axis.least) / Math.log(axis.most / axis.least);
  return labelWidth + share * (width - labelWidth - valueWidth);
}

function heightOf(bars: readonly Bar[]): number {
  return headHeight + bars.length * (barHeight + barGap) + 12;
}

function drawChart(set: SetFigure, top: number): string {
  const bars = barsOf(set);
  const bottom = top + heightOf(bars) - 12;
  const title = `${set.name}, ${set.rows.toLocaleString("en-US")} rows: times faster than the best peer, warm`;
  const lines = [0.01, 0.1, 1, 10, 100, 1000].map((times) => {
    const x = xOf(times).toFixed(1);
    const strong = times === 1 ? ' class="one"' : "";
    return `<line${strong} x1="${x}" x2="${x}" y1="${top + headHeight - 8}" y2="${bottom}"/><text class="tick" x="${x}" y="${top + headHeight - 14}">${times}</text>`;
  });
  const drawn = bars.map((bar, at) => drawBar(bar, top + headHeight + at * (barHeight + barGap)));
  return `<text class="title" x="8" y="${top + 20}">${title}</text>\n${[...lines, ...drawn].join("\n")}`;
}

function drawBar({ label, times, aim }: Bar, y: number): string {
  const [from, to] = [xOf(1), xOf(times)].sort((a, b) => a - b) as [number, number];
  const state = times >= aim ? "met" : "missed";
  const aimX = xOf(aim).toFixed(1);
  const text = y + barHeight - 4;
  return [
    `<text x="${labelWidth - 8}" y="${text}" text-anchor="end">${label}</text>`,
    `<rect class="${state}" x="${from.toFixed(1)}" y="${y}" width="${(to - from).toFixed(1)}" height="${barHeight}"/>`,
    `<line class="aim" x1="${aimX}" x2="${aimX}" y1="${y - 2}" y2="${y + barHeight + 2}"/>`,
    `<text x="${width - 8}" y="${text}" text-anchor="end">${times >= 10 ? times.toFixed(0) : times.toFixed(2)} ×</text>`,
  ].join("");
}

function drawPlot(report: Report): string {
  let top = 0;
  const charts = report.sets.map((set) => {
    const drawn = drawChart(set, top);
    top += heightOf(barsOf(set));
    return drawn;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top + 24}" font-family="sans-serif" font-size="13">
<title>How many times faster than the best peer svc answers</title>
<style>
  text { fill: #222 } .title { font-weight: bold } .tick { text-anchor: middle; font-size: 11px; fill: #666 }
  line { stroke: #ddd } .one { stroke: #222 } .aim { stroke: #d9480f; stroke-width: 2 } .met { fill: #2b8a3e } .missed { fill: #868e96 }
</style>
<rect width="100%" height="100%" fill="#fff"/>
${charts.join("\n")}
<text class="tick" x="${width / 2}" y="${top + 14}">orange: the aim; green: reached. ${report.machine.cores} cores of ${report.machine.cpu}, revision ${report.machine.revision ?? "unknown"}</text>
</svg>
`;
}

const [figures = benchPath("results/latest.json"), svg = benchPath("results/latest.svg")] =
  process.argv.slice(2);
await writeFile(svg, drawPlot(JSON.parse(await readFile(figures, "utf8"))));
process.stdout.write(`drawn in ${svg}\n`);
