/** An alert while it is edited: the members that the editor knows are changed, all others stay as they are. */

import type { AlertAction, AlertRule, RuleOperator, SavedAlert } from "./answers.ts";

/** A new alert over a query. */
export function newAlert(query: string): SavedAlert {
  return {
    metadata: { name: "" },
    timeseries: {
      expression: { svcQLTimeseries: { query, bucketSize: 60 } },
      evaluationRules: [newRule("critical")],
    },
  };
}

export function newRule(name: string): AlertRule {
  return {
    name,
    static: {
      operators: [{ operator: "greaterThan", threshold: 10 }],
      persistenceSettings: { datapointsToAlarm: 2, datapointsInEvaluationWindow: 3 },
    },
    actions: [],
  };
}

/** A destination that has nothing filled in yet. */
export function newAction(type: string): AlertAction {
  switch (type) {
    case "slack":
      return { type, slackDestination: { channel: "", notifyOnResolve: true } };
    case "email":
      return { type, emailDestination: { emails: [""], notifyOnResolve: true } };
    case "pagerDuty":
      return { type, pagerDutyDestination: { routingKey: "" } };
    default:
      return { type: "webhook", webhookDestination: { uuid: "", notifyOnResolve: true } };
  }
}

export function withQuery(alert: SavedAlert, changes: { query?: string; bucketSize?: number }): SavedAlert {
  const { timeseries } = alert;
  const svcQLTimeseries = { ...timeseries.expression.svcQLTimeseries, ...changes };
  return {
    ...alert,
    timeseries: { ...timeseries, expression: { ...timeseries.expression, svcQLTimeseries } },
  };
}

export function withRules(alert: SavedAlert, evaluationRules: AlertRule[]): SavedAlert {
  return { ...alert, timeseries: { ...alert.timeseries, evaluationRules } };
}

export function withRule(alert: SavedAlert, index: number, rule: AlertRule): SavedAlert {
  return withRules(alert, alert.timeseries.evaluationRules.with(index, rule));
}

export function withOperator(rule: AlertRule, index: number, operator: RuleOperator): AlertRule {
  return { ...rule, static: { ...rule.static, operators: rule.static.operators.with(index, operator) } };
}
