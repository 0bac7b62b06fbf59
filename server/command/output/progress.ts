/** How far a long command is, on standard error: a bar on a terminal, a plain line now and then elsewhere. */

export interface Done {
  /** Of the input as it lies on disk: how far it is. */
  bytes: number;
  /** 0: not known. */
  bytesTotal: number;
  /** Of the data, unpacked: what MB/s counts. */
  dataBytes: number;
  /** 0: not counted. */
  rows: number;
}

export interface Progress {
  show(done: Done): void;
  /** A line between, such as a problem that is being got over; the same one only now and then. */
  note(text: string): void;
  /** Takes the bar away. */
  end(): void;
}

const barMs = 100;
const lineMs = 5_000;
const barWidth = 12;
const clearLine = "\r\u001b[K";

/** `verb` says what is done to the bytes, e.g. `read`. */
export function openProgress(verb: string): Progress {
  const onTerminal = process.stderr.isTTY === true;
  const startMs = Date.now();
  let shownMs = startMs;
  let noted = { text: "", atMs: 0 };
  return {
    show: (done) => {
      const nowMs = Date.now();
      if (nowMs - shownMs < (onTerminal ? barMs : lineMs)) return;
      shownMs = nowMs;
      const seconds = Math.max(nowMs - startMs, 1) / 1000;
      process.stderr.write(onTerminal ? barText(done, seconds) : `${lineText(verb, done, seconds)}\n`);
    },
    note: (text) => {
      if (text === noted.text && Date.now() - noted.atMs < lineMs) return;
      noted = { text, atMs: Date.now() };
      process.stderr.write(`${onTerminal ? clearLine : ""}${text}\n`);
    },
    end: () => {
      if (onTerminal) process.stderr.write(clearLine);
    },
  };
}

/** `[###---------] 27 %, 341,022 rows, 210,000 rows/s, 74.1 MB/s, 4 s left`, cut to the terminal's width. */
function barText(done: Done, seconds: number): string {
  const known = done.bytesTotal > 0;
  const full = known ? Math.min(barWidth, Math.round((done.bytes / done.bytesTotal) * barWidth)) : 0;
  const bar = known ? `[${"#".repeat(full)}${"-".repeat(barWidth - full)}] ` : "";
  // Some terminals do not know their width and say 0.
  const width = process.stderr.columns || 80;
  return `\r${bar}${parts(done, seconds).join(", ")}`.slice(0, width).concat("\u001b[K");
}

/** `120.3 of 193.1 MB read, 62 %, 341,022 rows, 210,000 rows/s, 74.1 MB/s, 1 s left` */
function lineText(verb: string, done: Done, seconds: number): string {
  const total = done.bytesTotal > 0 ? ` of ${megabytes(done.bytesTotal)}` : "";
  return [`${megabytes(done.bytes)}${total} MB ${verb}`, ...parts(done, seconds)].join(", ");
}

function parts(done: Done, seconds: number): string[] {
  const { bytes, bytesTotal, dataBytes, rows } = done;
  const share = bytesTotal > 0 ? bytes / bytesTotal : 0;
  return [
    ...(bytesTotal > 0 ? [`${Math.min(100, Math.floor(share * 100))} %`] : []),
    ...(rows > 0 ? [`${count(rows)} rows`, `${count(Math.round(rows / seconds))} rows/s`] : []),
    `${megabytes(dataBytes / seconds)} MB/s`,
    ...(share > 0 ? [`${timeLeft((1 / share - 1) * seconds)} left`] : []),
  ];
}

function timeLeft(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(Math.max(0, seconds))} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** With commas between thousands, whatever the machine's locale. */
export function count(number: number): string {
  return number.toLocaleString("en-US");
}
