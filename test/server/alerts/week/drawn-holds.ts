/** Routes and inhibitions of the week: how they are drawn. */
import type { Random } from "../../../../fixtures/random.ts";
import type { Action } from "../../../../server/model/alert.ts";
import type { Inhibition, NotificationRoute } from "../../../../server/model/notification-route.ts";

/** None of them is ever spoilt; the first two have alerts of their own, too. */
const routed: readonly Action[] = [
  { type: "webhook", webhookDestination: { uuid: "calm", notifyOnResolve: true } },
  { type: "email", emailDestination: { emails: ["calm@shop.example"], notifyOnResolve: true } },
  { type: "webhook", webhookDestination: { uuid: "routed" } },
  { type: "email", emailDestination: { emails: ["routed@shop.example"], notifyOnResolve: true } },
  { type: "pagerDuty", pagerDutyDestination: { serviceName: "routed" } },
];
const severities = ["critical", "error", "warning"] as const;
const teams = ["red", "blue"];

/** What routes and inhibitions choose an alert by. It does not change while there is the alert. */
export function traitsOf(id: string): { severity: (typeof severities)[number]; labels: { team: string } } {
  const number = Number(id.split(" ")[1]);
  return { severity: severities[number % 3]!, labels: { team: teams[Math.floor(number / 3) % 2]! } };
}

function anyExpression(random: Random) {
  const operator = random.oneIn(4) ? "NotIn" : "In";
  const [key, values] = random.pick([
    ["severity", [random.pick(severities)]],
    ["team", [random.pick(teams)]],
    ["name", [random.pick(["s1", "s2", ""])]],
    ["alert.rule", ["rule 0"]],
    ["alert.id", ["alert 1", "alert 2", "alert 3"]],
  ] as [string, string[]][]);
  return { key, operator, values } as const;
}

export function anyRoute(random: Random): NotificationRoute {
  const repeatSeconds = random.pick([undefined, undefined, 600, 1_800]);
  const actions = routed.filter(() => random.oneIn(2));
  return {
    ...(random.oneIn(5) ? {} : { match: { matchExpressions: [anyExpression(random)] } }),
    actions: actions.length === 0 ? [routed[2]!] : actions,
    ...(random.oneIn(3) ? { groupBy: ["name"] } : {}),
    ...(repeatSeconds === undefined ? {} : { repeatSeconds }),
  };
}

export function anyInhibition(random: Random): Inhibition {
  return {
    source: { matchExpressions: [anyExpression(random), anyExpression(random)] },
    target: { matchExpressions: [anyExpression(random)] },
    equal: random.pick([[], ["name"], ["team"], ["name", "team"]]),
  };
}
