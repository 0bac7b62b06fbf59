/** An API server refused a request, or could not be reached. */
export class ApiError extends Error {
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
  /** The shortest pause that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status: number, retryAfterMs?: number) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}
