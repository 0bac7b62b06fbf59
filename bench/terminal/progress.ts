import { formatCount } from "./table.ts";

/** How far a step of the benchmark is. */
export interface StepProgress {
  /** What is being done: `load over HTTP`. */
  step: string;
  done: number;
  /** 0 where it is not known. */
  total: number;
  /** What is counted: `rows`. */
  unit: string;
}

export type ShowProgress = (progress: StepProgress) => void;

const terminalEveryMs = 100;
const lineEveryMs = 5000;

/** Writes to standard error: one line that renews itself on a terminal, else a plain line every five seconds. */
export class ProgressLine {
  private readonly isTerminal = process.stderr.isTTY === true;
  private step = "";
  private begunMs = 0;
  /** What was done when the step began: a load may go on where another ended. */
  private doneBefore = 0;
  private shownMs = 0;

  show(progress: StepProgress): void {
    const nowMs = performance.now();
    if (progress.step !== this.step) {
      this.end();
      this.step = progress.step;
      this.begunMs = nowMs;
      this.doneBefore = progress.done;
      this.shownMs = this.isTerminal ? 0 : nowMs;
    }
    if (nowMs - this.shownMs < (this.isTerminal ? terminalEveryMs : lineEveryMs)) return;
    this.shownMs = nowMs;
    const text = formatProgress(progress, this.doneBefore, (nowMs - this.begunMs) / 1000);
    process.stderr.write(
      this.isTerminal ? `\r${text.slice(0, (process.stderr.columns ?? 80) - 1)}\x1b[K` : `${text}\n`,
    );
  }

  /** Erases the line; the next step begins a new one. */
  end(): void {
    if (this.step !== "" && this.isTerminal) process.stderr.write("\r\x1b[K");
    this.step = "";
  }
}

/** `seconds`: since the step began, when `doneBefore` was done. */
function formatProgress(
  { step, done, total, unit }: StepProgress,
  doneBefore: number,
  seconds: number,
): string {
  const parts = [step];
  if (total > 0) parts.push(`${Math.floor((100 * done) / total)} %`);
  parts.push(`${formatCount(done)} ${unit}`);
  const doneSince = done - doneBefore;
  if (seconds > 0.5 && doneSince > 0) {
    parts.push(`${formatCount(Math.round(doneSince / seconds))} ${unit}/s`);
    if (total > 0) parts.push(`${Math.ceil(((total - done) * seconds) / doneSince)} s left`);
  }
  return parts.join("  ");
}
