/**
 * A value that the decoding of every body needs, as JSON text in shared memory: passing it to a decoding thread copies
 * nothing.
 */

export interface SharedJson {
  /** Differs for each value that this process has shared. */
  version: number;
  json: Uint8Array<SharedArrayBuffer>;
}

let versionLast = 0;

export function shareJson(value: unknown): SharedJson {
  const text = Buffer.from(JSON.stringify(value));
  const json = new Uint8Array(new SharedArrayBuffer(text.length));
  json.set(text);
  return { version: ++versionLast, json };
}

/** Makes the reader of a decoding thread. It parses the JSON text again only where the version has changed. */
export function makeSharedReader<Value, Read>(read: (value: Value) => Read): (shared: SharedJson) => Read {
  let last: { shared: SharedJson; read: Read } | undefined;
  return (shared) => {
    const isUnchanged =
      last?.shared.version === shared.version && last.shared.json.length === shared.json.length;
    if (last === undefined || !isUnchanged) {
      last = { shared, read: read(JSON.parse(Buffer.from(shared.json).toString("utf8")) as Value) };
    }
    return last.read;
  };
}
