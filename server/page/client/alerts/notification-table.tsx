/** Notifications and what became of them; each can be sent again. */

import { useSignal } from "@preact/signals";
import { ask } from "../api/client.ts";
import { may } from "../api/session.ts";
import { clock } from "../time/zone.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { NotificationAnswer } from "./answers.ts";

const statusNames: Readonly<Record<NotificationAnswer["status"], string>> = {
  waiting: "waiting",
  delivered: "delivered",
  givenUp: "given up",
  skipped: "skipped",
};

interface NotificationTableProps {
  notifications: readonly NotificationAnswer[];
  reload(): void;
}

export function NotificationTable({ notifications, reload }: NotificationTableProps) {
  const problem = useSignal("");
  const resend = async (id: string) => {
    try {
      await ask(`/api/v1/notifications/${encodeURIComponent(id)}/resend`, { method: "POST", body: {} });
      problem.value = "";
      reload();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  if (notifications.length === 0) return <p class="hint">Nobody was notified.</p>;
  return (
    <TableBox label="Notifications">
      {problem.value === "" ? null : (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">To</th>
            <th scope="col">Fate</th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {notifications.map((each) => (
            <tr key={each.id}>
              <td class="time">{clock.value.short(each.createdAt)}</td>
              <td>{each.type === "alertResolved" ? "the end" : "the begin"}</td>
              <td>
                <bdi>{each.destination.name}</bdi>
              </td>
              <td>
                <span class={each.status === "givenUp" ? "badge error" : "badge"}>
                  {statusNames[each.status]}
                </span>{" "}
                {each.tries > 1 ? `after ${each.tries} tries` : ""}
                {each.nextTryAt === null ? "" : `, next try ${clock.value.short(each.nextTryAt)}`}
                {each.problem === null ? null : <div class="hint">{each.problem}</div>}
              </td>
              <td>
                {may("notify") ? (
                  <button type="button" onClick={() => void resend(each.id)}>
                    Send again
                  </button>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
