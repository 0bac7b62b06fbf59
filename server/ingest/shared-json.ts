/** What every body is read by, as JSON text in shared memory: handing it to a worker costs nothing. */

export interface SharedJson {
  /** Tells one state from any other that this process shared. */
  version: number;
  json: Uint8Array<SharedArrayBuffer>;
}

let versions = 0;

export function sharedJson(value: unknown): SharedJson {
  const text = Buffer.from(JSON.stringify(value));
  const json = new Uint8Array(new SharedArrayBuffer(text.length));
  json.set(text);
  return { version: ++versions, json };
}

/** On a worker thread: `read` is asked anew only when another state came than the last time. */
export function sharedReader<Value, Read>(read: (value: Value) => Read): (shared: SharedJson) => Read {
  let last: { shared: SharedJson; read: Read } | undefined;
  return (shared) => {
    const isLast = last?.shared.version === shared.version && last.shared.json.length === shared.json.length;
    if (last === undefined || !isLast) {
      last = { shared, read: read(JSON.parse(Buffer.from(shared.json).toString("utf8")) as Value) };
    }
    return last.read;
  };
}
