/** The progress of a long command on standard error: a bar on a terminal, elsewhere a plain line every 5 s. */

/** How far a command is. */
export interface ProgressState {
  /** Bytes of the input read so far, as stored (compressed or not). */
  bytes: number;
  /** All bytes of the input; 0 where that is not known. */
  bytesTotal: number;
  /** Decompressed bytes so far; MB/s is made of these. */
  dataBytes: number;
  /** Rows so far; 0 where rows are not counted. */
  rows: number;
}

export interface Progress {
  show(done: ProgressState): void;
  /** Prints a line such as a problem that is being retried; the same line at most every 5 s. */
  note(text: string): void;
  /** Removes the bar. */
  end(): void;
}

const barMs = 100;
const lineMs = 5_000;
const barWidth = 12;
const clearLine = "\r\u001b[K";

/** `verb` is the participle that names what is done to the bytes, such as `read`. */
export function openProgress(verb: string): Progress {
  const onTerminal = process.stderr.isTTY === true;
  const startMs = performance.now();
  let lastShownMs = startMs;
  let lastNote = { text: "", atMs: 0 };
  return {
    show: (done) => {
      const nowMs = performance.now();
      if (nowMs - lastShownMs < (onTerminal ? barMs : lineMs)) return;
      lastShownMs = nowMs;
      const seconds = Math.max(nowMs - startMs, 1) / 1000;
      process.stderr.write(onTerminal ? formatBar(done, seconds) : `${formatLine(verb, done, seconds)}\n`);
    },
    note: (text) => {
      if (text === lastNote.text && performance.now() - lastNote.atMs < lineMs) return;
      lastNote = { text, atMs: performance.now() };
      process.stderr.write(`${onTerminal ? clearLine : ""}${text}\n`);
    },
    end: () => {
      if (onTerminal) process.stderr.write(clearLine);
    },
  };
}

/** `[###---------] 27 %, 341,022 rows, 210,000 rows/s, 74.1 MB/s, 4 s left`, cut to the terminal's width. */
function formatBar(done: ProgressState, seconds: number): string {
  const isTotalKnown = done.bytesTotal > 0;
  const filled = isTotalKnown ? Math.min(barWidth, Math.round((done.bytes / done.bytesTotal) * barWidth)) : 0;
  const bar = isTotalKnown ? `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}] ` : "";
  // Some terminals do not know their width and report 0.
  const width = process.stderr.columns || 80;
  return `\r${bar}${formatFigures(done, seconds).join(", ")}`.slice(0, width).concat("\u001b[K");
}

/** `120.3 of 193.1 MB read, 62 %, 341,022 rows, 210,000 rows/s, 74.1 MB/s, 1 s left` */
function formatLine(verb: string, done: ProgressState, seconds: number): string {
  const total = done.bytesTotal > 0 ? ` of ${formatMegabytes(done.bytesTotal)}` : "";
  return [`${formatMegabytes(done.bytes)}${total} MB ${verb}`, ...formatFigures(done, seconds)].join(", ");
}

function formatFigures(done: ProgressState, seconds: number): string[] {
  const { bytes, bytesTotal, dataBytes, rows } = done;
  const share = bytesTotal > 0 ? bytes / bytesTotal : 0;
  return [
    ...(bytesTotal > 0 ? [`${Math.min(100, Math.floor(share * 100))} %`] : []),
    ...(rows > 0 ? [`${formatCount(rows)} rows`, `${formatCount(Math.round(rows / seconds))} rows/s`] : []),
    `${formatMegabytes(dataBytes / seconds)} MB/s`,
    ...(share > 0 ? [`${formatTimeLeft((1 / share - 1) * seconds)} left`] : []),
  ];
}

function formatTimeLeft(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(Math.max(0, seconds))} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

function formatMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** Puts commas between thousands, whatever the machine's locale. */
export function formatCount(number: number): string {
  return number.toLocaleString("en-US");
}
