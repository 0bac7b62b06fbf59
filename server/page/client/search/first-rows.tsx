/** What to do first where no rows are stored: how to send some, and a sample. It goes when rows arrive. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LogPage } from "../api/answers.ts";
import { ApiProblem, ask } from "../api/client.ts";
import { may, session } from "../api/session.ts";
import { startRun } from "../found/search-state.ts";
import { makeSampleRows } from "./sample-rows.ts";

const pollMs = 2_000;
const sampleTokenMs = 600_000;

/** True where nothing but the server's own audit log is stored, as far as the person may read it. */
async function isEmpty(): Promise<boolean> {
  const body = { query: '{audit!="*"}', startTime: 0, endTime: Date.now() + 86_400_000, limit: 1 };
  return (await ask<LogPage>("/api/v1/query/logs", { body })).count === 0;
}

export function FirstRows() {
  const isShown = useSignal(false);
  const problem = useSignal("");
  useEffect(() => {
    const look = async () => {
      const wasShown = isShown.value;
      try {
        isShown.value = await isEmpty();
      } catch {
        // The server is away for a moment: the next look tells.
        return;
      }
      if (isShown.value) return;
      clearInterval(timer);
      if (wasShown) void startRun();
    };
    const timer = setInterval(look, pollMs);
    void look();
    return () => clearInterval(timer);
  }, []);
  const load = async () => {
    try {
      await sendSample();
    } catch (error) {
      problem.value = (error as Error).message;
    }
  };
  if (!isShown.value) return null;
  return (
    <section class="first-rows" aria-labelledby="first-rows">
      <h2 id="first-rows">No rows are stored yet</h2>
      <p>Send one from the machine that the server runs on, in the folder that it was started in:</p>
      <pre>
        {`curl ${location.origin}/api/v1/ingest/logs \\
  -H "Authorization: Bearer $(cat data/admin-token)" -H 'Content-Type: application/x-ndjson' \\
  --data-binary '{"log_level":"error","message":"connection refused","attributes":{"service.name":"/k8s/shop/cart"}}'`}
      </pre>
      <p>
        Or point what ships logs today at this address: OTLP at <code>/v1/logs</code>, Loki at{" "}
        <code>/loki/api/v1/push</code>, Elasticsearch at <code>/_bulk</code>, with a token of{" "}
        <code>svc token create --role ingest</code>.
      </p>
      {may("manage tokens") ? (
        <p>
          <button type="button" class="primary" onClick={() => void load()}>
            Load a sample
          </button>{" "}
          3,000 rows of an imagined shop, by the same way.
        </p>
      ) : session.value?.signedIn === false ? (
        <p>
          <a href="/signin">Sign in</a> with the token in <code>data/admin-token</code> to load a sample.
        </p>
      ) : null}
      {problem.value === "" ? null : (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </section>
  );
}

/** Sends the sample with a token of its own, since a session may not send rows. */
async function sendSample(): Promise<void> {
  const expiresAt = Date.now() + sampleTokenMs;
  const { id, token } = await ask<{ id: string; token: string }>("/api/v1/tokens", {
    body: { role: "ingest", name: "sample of the page", expiresAt },
  });
  const sent = await fetch("/api/v1/ingest/logs", {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/x-ndjson" },
    body: makeSampleRows(Date.now()),
  });
  await ask(`/api/v1/tokens/${id}`, { method: "DELETE" });
  if (!sent.ok) throw new ApiProblem(`The sample was not taken: ${await sent.text()}`, sent.status);
}
