/** OTLP logs and ingestion rules for measuring what the gateway of a cluster does with them. */
import { rowsPerBody } from "../protocols/generated-rows.ts";
import { encode, makeOtlpLogs } from "../protocols/request-bodies.ts";

/** Half of the rules match no record; together they leave out about a third. */
export const rules = [
  ...Array.from({ length: 8 }, (_, i) => makeRule(i, "client.address", "In", [`10.2.${i}.7`, `10.9.${i}.1`])),
  ...Array.from({ length: 6 }, (_, i) => makeRule(8 + i, "http.route", "RegexIn", [`^/healthz?/${i}$`])),
  ...Array.from({ length: 3 }, (_, i) => makeRule(14 + i, "k8s.container.name", "In", [`sidecar-${i}`])),
  makeRule(17, "service.name", "RegexIn", ["^/k8s/ops/"]),
  makeRule(18, "log_level", "In", ["debug"]),
  makeRule(19, "http.response.status_code", "RegexIn", ["^30"]),
];

/** The same number of rules that search the message, where nothing repeats. */
export const messageRules = Array.from({ length: 20 }, (_, i) =>
  makeRule(i, "message", "RegexIn", [
    i === 0 ? "cache miss" : `kube-probe/${i}\\.\\d+|(?i)ERROR ${i}.*CHECKOUT`,
  ]),
);

function makeRule(n: number, key: string, operator: "In" | "RegexIn", values: string[]) {
  return {
    id: `rule-${n}`,
    rules: [
      {
        signals: ["logs" as const],
        action: "Exclude" as const,
        match: { matchExpressions: [{ key, operator, values }] },
      },
    ],
  };
}

export function makeLogBodies(count: number): Buffer[] {
  return Array.from({ length: count }, (_, body) =>
    Buffer.from(
      encode(
        "Logs",
        makeOtlpLogs(body, (id) => id),
      ),
    ),
  );
}

export { rowsPerBody };
