/** All of a row: its message, and its fields with what can be done with each. */

import { useMemo, useState } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { linkOfRun } from "../found/search-state.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Icon } from "../ui/icon.tsx";
import { readJson } from "../ui/json-text.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { FieldActions } from "./field-actions.tsx";
import { Surroundings } from "./surroundings.tsx";

/** Longer messages are shown in part at first: a browser lays out a megabyte of text slowly. */
const messageCharactersMax = 20_000;

export function RowDetail({ row }: { row: FoundLog }) {
  const [isWhole, setIsWhole] = useState(false);
  const [isRaw, setIsRaw] = useState(false);
  const [isAround, setIsAround] = useState(false);
  const { message, attributes } = row;
  const json = useMemo(() => readJson(message), [message]);
  const tree = isRaw ? undefined : json;
  const fields = Object.entries({ log_level: row.log_level, ...attributes });
  const isCut = tree === undefined && !isWhole && message.length > messageCharactersMax;
  return (
    <div class="row-detail">
      <div class="actions">
        <CopyButton name="Copy message" text={() => message} />
        {json === undefined ? null : (
          <button type="button" class="quiet" aria-pressed={isRaw} onClick={() => setIsRaw(!isRaw)}>
            Raw text
          </button>
        )}
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
      {tree === undefined ? (
        <pre class="message">
          <bdi>{isCut ? message.slice(0, messageCharactersMax) : message}</bdi>
        </pre>
      ) : (
        <JsonTree value={tree} />
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
