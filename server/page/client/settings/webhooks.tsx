/** Webhooks: where alerts send their events, tests of them, and what became of what was sent. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { clock } from "../time/zone.ts";
import { TableBox } from "../ui/table-box.tsx";
import { webhooks } from "./kinds.ts";
import { ResourceSection } from "./resource-section.tsx";

interface Delivery {
  id: string;
  alertId: string;
  alertName: string;
  destination: { type: string; name: string };
  createdAt: number;
  status: string;
  tries: number;
  problem: string | null;
}

const shownMax = 100;

export function Webhooks() {
  const told = useSignal("");
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ notifications: Delivery[] }>("/api/v1/notifications", { signal }),
  );
  const reload = () => void loading.load(undefined);
  useEffect(reload, []);
  const test = async (id: string) => {
    told.value = "Sending…";
    try {
      const { delivered, problem } = await ask<{ delivered: boolean; problem: string | null }>(
        `/api/v1/webhooks/${encodeURIComponent(id)}/test`,
        { method: "POST" },
      );
      told.value = delivered ? `${id}: the test was delivered.` : `${id}: ${problem}`;
    } catch (error) {
      told.value = `${id}: ${(error as Error).message}`;
    }
    reload();
  };
  const deliveries = (loading.answer.value?.notifications ?? [])
    .filter(({ destination }) => destination.type === "webhook")
    .slice(0, shownMax);
  return (
    <>
      <ResourceSection
        kind={webhooks}
        actions={(_, id) =>
          may("notify") ? (
            <button type="button" onClick={() => void test(id)}>
              Send a test
            </button>
          ) : null
        }
      />
      <p role="status">{told.value}</p>
      <section aria-label="Deliveries">
        <h2>Deliveries</h2>
        {deliveries.length === 0 ? (
          <p class="hint">Nothing was sent to webhooks yet.</p>
        ) : (
          <TableBox label="Deliveries">
            <table>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">To</th>
                  <th scope="col">Alert</th>
                  <th scope="col">Fate</th>
                </tr>
              </thead>
              <tbody>
                {deliveries.map(
                  ({ id, createdAt, destination, alertId, alertName, status, tries, problem }) => (
                    <tr key={id}>
                      <td class="time">{clock.value.short(createdAt)}</td>
                      <td>
                        <bdi>{destination.name}</bdi>
                      </td>
                      <td>
                        <a href={`/alerts/${encodeURIComponent(alertId)}`}>
                          <bdi>{alertName}</bdi>
                        </a>
                      </td>
                      <td>
                        {status}
                        {tries > 1 ? `, ${tries} tries` : ""}
                        {problem === null ? null : <div class="hint">{problem}</div>}
                      </td>
                    </tr>
                  ),
                )}
              </tbody>
            </table>
          </TableBox>
        )}
      </section>
    </>
  );
}
