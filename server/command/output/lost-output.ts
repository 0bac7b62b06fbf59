/** What becomes of a command whose output nobody takes any more: the reader of a pipe has ended, or a disk is full. */

/** What standard output is for a command. */
export type OutputUse =
  /** All that the command is for. It ends where nobody reads on, and that is no failure: `svc query … | head`. */
  | "answer"
  /** A report of work. The work goes on, and the exit code is that of the work. */
  | "report"
  /** A few lines of a server, which goes on serving. */
  | "log";

/** Watches both streams. Until a command is known, what is printed is an answer, such as help. */
export class OutputWatch {
  #use: OutputUse = "answer";
  #isLost = false;

  constructor() {
    process.stdout.on("error", (error) => this.#lose(error));
    // A message that nobody can read ends no command.
    process.stderr.on("error", () => undefined);
  }

  setUse(use: OutputUse): void {
    this.#use = use;
  }

  /** A report that a disk did not take is a failure. One whose reader closed the pipe was not wanted. */
  #lose(error: NodeJS.ErrnoException): void {
    const isClosed = error.code === "EPIPE";
    if (!isClosed && !this.#isLost) process.stderr.write(`svc: the output was lost: ${error.message}\n`);
    this.#isLost = true;
    if (this.#use === "answer") process.exit(isClosed ? 0 : 1);
    if (this.#use === "report" && !isClosed) process.exitCode ||= 1;
  }
}
