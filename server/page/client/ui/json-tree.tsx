/** A JSON value as a tree that opens and closes. */

import type { JsonNode } from "./json-text.ts";

interface JsonTreeProps {
  value: JsonNode;
  name?: string | undefined;
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
  if (!("members" in value) || depth === depthMax)
    return (
      <div class="json-leaf">
        {label}
        <bdi class={`json-${value.kind}`}>{leafText(value)}</bdi>
      </div>
    );
  const { kind, members } = value;
  return (
    <details class="json" open={depth < 2}>
      <summary>
        {label}
        {kind === "list" ? `[${members.length}]` : `{${members.length}}`}
      </summary>
      {members.slice(0, membersMax).map((member, i) => (
        <JsonTree key={i} name={member.name ?? String(i)} value={member.value} depth={depth + 1} />
      ))}
      {members.length > membersMax ? <p class="hint">and {members.length - membersMax} more</p> : null}
    </details>
  );
}

/** The text of a value. Characters of a string that are escaped without need are shown as themselves. */
function leafText({ kind, text }: JsonNode): string {
  return kind === "string" ? JSON.stringify(JSON.parse(text)) : text;
}
