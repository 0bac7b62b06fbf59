/** The instances of an alert: a state for each set of labels and rule. */

import { nameDuration } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { InstanceState } from "./answers.ts";
import { nameInstance } from "./names.ts";
import { StateBadge } from "./state-badge.tsx";

const shownMax = 300;
const order = ["firing", "noData", "ok"];

export function InstanceTable({ instances }: { instances: readonly InstanceState[] }) {
  const lines = instances
    .flatMap(({ labels, rules, silencedBy }) => rules.map((rule) => ({ labels, silencedBy, ...rule })))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  if (lines.length === 0) return <p class="hint">No instance was seen yet.</p>;
  return (
    <TableBox label="Instances">
      <table>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Instance</th>
            <th scope="col">Rule</th>
            <th scope="col">For</th>
            <th scope="col">Silenced</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, shownMax).map(({ labels, rule, state, since, silencedBy }) => (
            <tr key={`${rule} ${nameInstance(labels)}`}>
              <td>
                <StateBadge state={state} />
              </td>
              <td>
                <bdi>{nameInstance(labels)}</bdi>
              </td>
              <td>
                <bdi>{rule}</bdi>
              </td>
              <td class="time">{nameDuration(Math.max(0, Date.now() - since))}</td>
              <td>{silencedBy === null ? "" : "yes"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > shownMax ? (
        <p class="hint">{nameCount(lines.length - shownMax, "more instance")} are not shown.</p>
      ) : null}
    </TableBox>
  );
}
