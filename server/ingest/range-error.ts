/** What a RangeError of V8 is about: it has no code, only its message. */

/** The body is nested deeper than the stack. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

/** There is no memory for an array or a text, or it would be longer than V8 allows. */
export function isAllocationFailure(error: unknown): boolean {
  return (
    error instanceof RangeError &&
    /allocat|^Invalid (?:string|array|typed array|array buffer) length/.test(error.message)
  );
}
