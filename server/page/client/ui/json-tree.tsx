/** A JSON value as a tree that opens and closes. */

interface JsonTreeProps {
  value: unknown;
  name?: string;
  depth?: number;
}

/** Members of one object or list that are shown. */
const membersMax = 500;
const depthMax = 100;

export function JsonTree({ value, name, depth = 0 }: JsonTreeProps) {
  const label =
    name === undefined ? null : (
      <>
        <bdi class="json-name">{name}</bdi>:{" "}
      </>
    );
  if (value === null || typeof value !== "object" || depth === depthMax)
    return (
      <div class="json-leaf">
        {label}
        <bdi class={`json-${value === null ? "null" : typeof value}`}>{JSON.stringify(value)}</bdi>
      </div>
    );
  const members = Object.entries(value);
  const isList = Array.isArray(value);
  return (
    <details class="json" open={depth < 2}>
      <summary>
        {label}
        {isList ? `[${members.length}]` : `{${members.length}}`}
      </summary>
      {members.slice(0, membersMax).map(([key, member]) => (
        <JsonTree key={key} name={key} value={member} depth={depth + 1} />
      ))}
      {members.length > membersMax ? <p class="hint">and {members.length - membersMax} more</p> : null}
    </details>
  );
}
