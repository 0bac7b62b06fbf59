/** One suspect: how likely it is, where in it the evidence lies, and the evidence with the places that show it. */

import { clock } from "../time/zone.ts";
import { nameService } from "../traces/service-name.ts";
import type { ShownEvidence, ShownSuspect } from "./answers.ts";
import { linkOfQuery, linkOfRow, type ShownWindow } from "./links.ts";

/** What a kind of cause means. */
const kinds: Readonly<Record<string, string>> = {
  code: "its code behaves in another way",
  exception: "it fails with an error",
  latency: "it is slow by itself",
  network: "the way to it is slow or fails",
  cpu: "it is short of CPU",
  memory: "its memory grows",
  change: "it was changed",
  outside: "something outside that it calls",
  unavailable: "its pods or their node are gone",
};

interface SuspectCardProps {
  suspect: ShownSuspect;
  place: number;
  window: ShownWindow;
}

export function SuspectCard({ suspect, place, window }: SuspectCardProps) {
  const { service, kind, confidence, evidence } = suspect;
  const percent = Math.round(confidence * 100);
  return (
    <li class="suspect">
      <h3>
        {place}. <bdi title={service}>{nameService(service)}</bdi>{" "}
        <span class="badge" title={kinds[kind] ?? kind}>
          {kind}
        </span>
      </h3>
      <p>
        <meter
          min={0}
          max={1}
          value={confidence}
          aria-label={`How likely ${nameService(service)} is the cause`}
        />{" "}
        {percent} % likely the cause{kinds[kind] === undefined ? "" : `: ${kinds[kind]}`}
      </p>
      <Places suspect={suspect} />
      <ul class="evidence">
        {evidence.map((each) => (
          <EvidenceLine key={each.id} evidence={each} window={window} />
        ))}
      </ul>
    </li>
  );
}

function Places({ suspect: { pod, node, operation, caller } }: { suspect: ShownSuspect }) {
  const places = Object.entries({ operation, "called by": caller && nameService(caller), pod, node });
  const known = places.filter(([, value]) => value !== undefined);
  if (known.length === 0) return null;
  return (
    <dl class="places">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <bdi>{value}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function EvidenceLine({ evidence, window }: { evidence: ShownEvidence; window: ShownWindow }) {
  const { id, sentence, query, at, message, traceId } = evidence;
  const row = linkOfRow(evidence, window);
  return (
    <li id={`evidence-${id}`} tabIndex={-1}>
      <span class="evidence-id">{id}</span>
      <div>
        <bdi>{sentence}</bdi>
        {at === undefined ? null : <span class="time">, since {clock.value.short(at)}</span>}
        {message === undefined ? null : (
          <pre class="evidence-message">
            <bdi>{message}</bdi>
          </pre>
        )}
        <span class="evidence-links">
          <a href={linkOfQuery(query, window)} title={query}>
            Show
          </a>
          {row === undefined ? null : <a href={row}>Log</a>}
          {traceId === undefined ? null : <a href={`/traces/${encodeURIComponent(traceId)}`}>Trace</a>}
        </span>
      </div>
    </li>
  );
}
