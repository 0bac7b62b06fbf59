/** Whether what an action asks for can be delivered at all, as the server is set up now. */

import type { Action, Alert } from "../model/alert.ts";
import { isIncomingWebhook } from "./destination.ts";

/** What the server has to deliver with. */
export interface DeliveryMeans {
  hasSlackToken: boolean;
  hasMailServer: boolean;
  /** Ids and names of the PagerDuty services that have a routing key. */
  pagerDutyServices: ReadonlySet<string>;
  /** Whether a webhook integration answered 410 and was switched off. */
  isWebhookOff: (uuid: string) => boolean;
}

/** Sentences about the actions of an alert that cannot be delivered, each with the action's place below `path`. */
export function warnUndeliverable(alert: Alert, path: string, means: DeliveryMeans): string[] {
  return alert.timeseries.evaluationRules.flatMap(({ actions = [] }, i) =>
    actions.flatMap((action, j) => {
      const problem = findDeliveryProblem(action, means);
      return problem === undefined
        ? []
        : [`${path}.timeseries.evaluationRules[${i}].actions[${j}] reaches nobody: ${problem}`];
    }),
  );
}

function findDeliveryProblem(action: Action, means: DeliveryMeans): string | undefined {
  switch (action.type) {
    case "slack": {
      const isIncoming = isIncomingWebhook(action.slackDestination.channel);
      return isIncoming || means.hasSlackToken ? undefined : "the server has no Slack token (--slack-token)";
    }
    case "email":
      return means.hasMailServer ? undefined : "the server has no mail server (--smtp)";
    case "pagerDuty": {
      const { routingKey, serviceId, serviceName } = action.pagerDutyDestination;
      const named = serviceId ?? serviceName;
      if (routingKey !== undefined) return undefined;
      if (named === undefined) return "it names no routingKey, serviceId or serviceName";
      if (means.pagerDutyServices.has(named)) return undefined;
      return `the server has no routing key for the PagerDuty service ${JSON.stringify(named)} (--pagerduty-key)`;
    }
    case "webhook": {
      const { uuid, resolvedUuid } = action.webhookDestination;
      const off = [uuid, resolvedUuid].find((id) => id !== undefined && means.isWebhookOff(id));
      if (off === undefined) return undefined;
      return `the webhook ${JSON.stringify(off)} answered 410 and is switched off until it is saved again`;
    }
  }
}
