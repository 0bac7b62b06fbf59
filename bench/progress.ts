import { grouped } from "./table.ts";

/** How far a step of the benchmark is. */
export interface StepProgress {
  /** What is being done: `load over HTTP`. */
  step: string;
  done: number;
  total: number;
  /** What is counted: `rows`. */
  unit: string;
}

const terminalEveryMs = 100;
const lineEveryMs = 5000;

/** A line that renews itself on a terminal, and a plain line every five seconds elsewhere. On standard error. */
export class ProgressLine {
  private readonly terminal = process.stderr.isTTY === true;
  private step = "";
  private begunMs = 0;
  private shownMs = 0;

  show(progress: StepProgress): void {
    const nowMs = performance.now();
    if (progress.step !== this.step) {
      this.end();
      this.step = progress.step;
      this.begunMs = nowMs;
      this.shownMs = this.terminal ? 0 : nowMs;
    }
    if (nowMs - this.shownMs < (this.terminal ? terminalEveryMs : lineEveryMs)) return;
    this.shownMs = nowMs;
    const text = progressText(progress, (nowMs - this.begunMs) / 1000);
    process.stderr.write(
      this.terminal ? `\r${text.slice(0, (process.stderr.columns ?? 80) - 1)}\x1b[K` : `${text}\n`,
    );
  }

  /** Takes the line away; the next step begins a new one. */
  end(): void {
    if (this.step !== "" && this.terminal) process.stderr.write("\r\x1b[K");
    this.step = "";
  }
}

function progressText({ step, done, total, unit }: StepProgress, seconds: number): string {
  const parts = [step];
  if (total > 0) parts.push(`${Math.floor((100 * done) / total)} %`);
  parts.push(`${grouped(done)} ${unit}`);
  if (seconds > 0.5 && done > 0) {
    parts.push(`${grouped(Math.round(done / seconds))} ${unit}/s`);
    if (total > 0) parts.push(`${Math.ceil(((total - done) * seconds) / done)} s left`);
  }
  return parts.join("  ");
}
