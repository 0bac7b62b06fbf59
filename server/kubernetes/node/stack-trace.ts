/**
 * Which lines continue a stack trace: Java, Python, Go, Node and .NET, as their runtimes print them. The state is the
 * form of trace that the lines so far are of.
 */

/**
 * `text`: a line that begins no trace. `header`: the name of an exception. `frames`: frames of Java, Node or .NET.
 * `source`: the place in a source file that Node prints first. `python end`: after the line that names the exception.
 */
export type TraceState = "text" | "header" | "frames" | "source" | "python" | "python end" | "go";

const frame =
  /^\s+(?:at |\.\.\. \d+ (?:more|common)|--- End of|---> |Suppressed: |Caused by: |\[CIRCULAR REFERENCE|\^)/;
const indented = /^\s+\S/;
const cause = /^(?:Caused by: |Wrapped by: |--- End of (?:inner exception )?stack trace| ?---> )/;
const traceback = /^(?:Traceback \(most recent call last\):|Exception Group Traceback)/;
const chained = /^(?:During handling of the above exception|The above exception was the direct cause)/;
/** A class with its package, as Java and .NET name it. */
const exceptionHeader =
  /^(?:Exception in thread "|Unhandled exception\. |[A-Za-z_$][\w$]*(?:\.[\w$`+]+)+(?:Exception|Error|Throwable|Failure)(?::|\s|$))/;
const nodeHeader = /^(?:Uncaught )?(?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?(?::|$)/;
const nodeSource = /^(?:file:\/\/|node:)?[\w./@~-]+\.[cm]?[jt]s:\d+$/;
const goStart = /^(?:panic: |fatal error: |goroutine \d+ \[|unexpected fault address |SIG[A-Z]+: )/;
const goLine =
  /^(?:goroutine \d+ \[|\s|created by |\[signal |runtime stack:|\.\.\.(?:additional|\d+) frames|exit status \d+$|panic: |[a-z]{2,5}\d*\s+0x[0-9a-f]+$|[^\s(]+\(.*\)$|[^\s(]+\.\(.*\)\.[^\s(]+\(.*\)$)/;
const nodeProperty = /^(?:\}|Node\.js v\d)/;
/** A log line that an exception may follow: loggers print both in one call. */
const failure = /\b(?:ERROR|WARN(?:ING)?|FATAL|SEVERE|CRITICAL|[Ee]rror|[Ff]atal|[Ee]xception)\b/;

/** Returns the state after the first line of a row. */
export function beginTrace(line: string): TraceState {
  if (traceback.test(line)) return "python";
  if (goStart.test(line)) return "go";
  if (exceptionHeader.test(line) || nodeHeader.test(line)) return "header";
  return nodeSource.test(line) ? "source" : "text";
}

/** Returns the state after `line` where it continues the row, else undefined. `first` is the first line of the row. */
export function continueTrace(state: TraceState, line: string, first: string): TraceState | undefined {
  switch (state) {
    case "text":
      return continueText(line, first);
    case "header":
      return frame.test(line) || cause.test(line) ? "frames" : undefined;
    case "source":
      if (line === "" || indented.test(line)) return "source";
      return nodeHeader.test(line) ? "frames" : undefined;
    case "frames":
      return line === "" || indented.test(line) || cause.test(line) || nodeProperty.test(line)
        ? "frames"
        : undefined;
    case "python":
      if (line === "" || indented.test(line)) return "python";
      return "python end";
    case "python end":
      if (traceback.test(line)) return "python";
      return line === "" || chained.test(line) || indented.test(line) ? "python end" : undefined;
    case "go":
      return line === "" || goLine.test(line) ? "go" : undefined;
  }
}

function continueText(line: string, first: string): TraceState | undefined {
  const code = line.charCodeAt(0);
  // Most lines are neither indented nor begin with a name, so that they cost one comparison.
  if (code === 0x20 || code === 0x09) return frame.test(line) ? "frames" : undefined;
  if (code < 0x41 || Number.isNaN(code)) return undefined;
  if (cause.test(line)) return "frames";
  if (traceback.test(line)) return failure.test(first) ? "python" : undefined;
  return exceptionHeader.test(line) && failure.test(first) ? "header" : undefined;
}
