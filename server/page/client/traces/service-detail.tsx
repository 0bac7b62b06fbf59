/** One service of the map: who calls it, what it calls, and the ways to its spans and logs. */

import { withParameters } from "../browser/address.ts";
import { quoteText } from "../query/quoted-text.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { ServiceEdge, ServiceMapAnswer, ServiceNode } from "./answers.ts";
import { nameService } from "./service-name.ts";
import { CallCells, CallHeads } from "./service-table.tsx";

interface ServiceDetailProps {
  answer: ServiceMapAnswer;
  service: ServiceNode;
  onChoose(name: string | undefined): void;
}

export function ServiceDetail({ answer, service, onChoose }: ServiceDetailProps) {
  const { name, kind } = service;
  const callers = answer.edges.filter(({ to }) => to === name);
  const called = answer.edges.filter(({ from }) => from === name);
  return (
    <aside class="service-detail" aria-label={`Service ${nameService(name)}`}>
      <header>
        <h2>
          <bdi>{nameService(name)}</bdi>
        </h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => onChoose(undefined)}>
          ✕
        </button>
      </header>
      {name === nameService(name) ? null : (
        <p class="hint">
          <bdi>{name}</bdi>
        </p>
      )}
      <TableBox label="Calls to the service">
        <table>
          <thead>
            <tr>
              <CallHeads />
            </tr>
          </thead>
          <tbody>
            <tr>
              <CallCells of={service} />
            </tr>
          </tbody>
        </table>
      </TableBox>
      {kind === "service" ? <Ways name={name} /> : null}
      <Edges title="Called by" edges={callers} nameOf={({ from }) => from} onChoose={onChoose} />
      <Edges title="Calls" edges={called} nameOf={({ to }) => to} onChoose={onChoose} />
    </aside>
  );
}

/** Links to what the service sent. */
function Ways({ name }: { name: string }) {
  const filter = `service.name=${quoteText(name)}`;
  const spans = (query: string, sort: string | null = null) =>
    withParameters({ q: query, view: null, service: null, sort });
  const logs = new URLSearchParams({ q: `logs{${filter}}` });
  const here = new URLSearchParams(withParameters({}).split("?")[1]);
  for (const end of ["from", "to"]) if (here.has(end)) logs.set(end, here.get(end)!);
  return (
    <p class="ways">
      <a href={spans(`traces{${filter}}`)}>Spans</a>
      <a href={spans(`traces{${filter}}`, "slowest")}>Slowest</a>
      <a href={spans(`traces{${filter}, status_code="error"}`)}>Errors</a>
      <a href={`/?${logs}`}>Logs</a>
    </p>
  );
}

interface EdgesProps {
  title: string;
  edges: readonly ServiceEdge[];
  nameOf(edge: ServiceEdge): string;
  onChoose(name: string): void;
}

function Edges({ title, edges, nameOf, onChoose }: EdgesProps) {
  if (edges.length === 0) return null;
  return (
    <TableBox label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <CallHeads />
          </tr>
        </thead>
        <tbody>
          {edges.map((edge) => (
            <tr key={nameOf(edge)}>
              <td>
                <button
                  type="button"
                  class="quiet"
                  title={nameOf(edge)}
                  onClick={() => onChoose(nameOf(edge))}
                >
                  <bdi>{nameService(nameOf(edge))}</bdi>
                </button>
              </td>
              <CallCells of={edge} />
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
