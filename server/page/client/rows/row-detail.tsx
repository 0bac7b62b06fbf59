/** All of a row: its message, and its fields with what can be done with each. */

import { useState } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { linkOfRun } from "../found/search-state.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { JsonTree } from "../ui/json-tree.tsx";
import { FieldActions } from "./field-actions.tsx";
import { Surroundings } from "./surroundings.tsx";

/** Longer messages are shown in part at first: a browser lays out a megabyte of text slowly. */
const messageCharactersMax = 20_000;

export function RowDetail({ row }: { row: FoundLog }) {
  const [isWhole, setIsWhole] = useState(false);
  const [isAround, setIsAround] = useState(false);
  const { message, attributes } = row;
  const json = jsonOf(message);
  const fields = Object.entries({ log_level: row.log_level, ...attributes });
  const isCut = !isWhole && message.length > messageCharactersMax;
  return (
    <div class="row-detail">
      <div class="actions">
        <CopyButton name="Copy message" text={() => message} />
        <CopyButton name="Copy JSON" text={() => JSON.stringify(row, null, 2)} />
        {row.id === undefined ? null : (
          <>
            <CopyButton name="Copy link" text={() => linkOfRun(row.id)} />
            <button
              type="button"
              class="quiet"
              aria-expanded={isAround}
              onClick={() => setIsAround(!isAround)}
            >
              <Icon name="around" /> Surroundings
            </button>
          </>
        )}
        {attributes.trace_id === undefined ? null : (
          <a href={`/traces/${encodeURIComponent(attributes.trace_id)}`}>Trace</a>
        )}
      </div>
      {isAround && row.id !== undefined ? <Surroundings row={row} id={row.id} /> : null}
      {json === undefined ? (
        <pre class="message">
          <bdi>{isCut ? message.slice(0, messageCharactersMax) : message}</bdi>
        </pre>
      ) : (
        <JsonTree value={json} />
      )}
      {isCut ? (
        <button type="button" onClick={() => setIsWhole(true)}>
          Show all {message.length.toLocaleString("en")} characters
        </button>
      ) : null}
      <table class="fields">
        <tbody>
          {fields
            .filter(([, value]) => value !== "")
            .map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>
                  <FieldActions field={name} value={value} />
                </td>
                <td class="value">
                  <bdi>{value}</bdi>
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** The object or list that a message is; undefined where it is other text. */
function jsonOf(message: string): unknown {
  if (!/^\s*[[{]/.test(message)) return undefined;
  try {
    return JSON.parse(message);
  } catch {
    return undefined;
  }
}
