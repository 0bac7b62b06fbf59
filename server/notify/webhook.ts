/** Sends events to webhook integrations, as Standard Webhooks specifies. */
import type { Webhook } from "../model/webhook.ts";
import type { AddressGuard } from "./address-guard.ts";
import { envelopeOf } from "./envelope.ts";
import { rulesOf } from "./event-types.ts";
import { describeAnswer, type HttpRequest, retryOutcome, sendHttp } from "./http-request.ts";
import type { Outcome, Senders } from "./sender.ts";
import { signHeaders } from "./signature.ts";
import { fillBody, fillHeader, fillUrl, variablesOf } from "./template.ts";

export interface WebhookOptions {
  webhookOf: (uuid: string) => Webhook | undefined;
  /** Called when the receiver answers 410: it is gone for good. */
  onGone: (uuid: string) => void;
  /** Returns whether an earlier 410 has switched the integration off. */
  isOff: (uuid: string) => boolean;
  guard: AddressGuard;
  publicUrl: string;
}

export function webhookSender(options: WebhookOptions): Senders["webhook"] {
  return async ({ id, action, events: [event], nowMs }): Promise<Outcome> => {
    const { uuid: firedUuid, resolvedUuid } = action.webhookDestination;
    const uuid = rulesOf(event!.type).state === "resolved" ? (resolvedUuid ?? firedUuid) : firedUuid;
    const webhook = options.webhookOf(uuid);
    if (webhook === undefined)
      return { kind: "final", problem: `there is no webhook integration ${JSON.stringify(uuid)}` };
    if (options.isOff(uuid))
      return { kind: "final", problem: "the webhook integration is switched off: it answered 410 before" };
    const request = makeRequest(webhook, { id, event: event!, nowMs }, options.publicUrl);
    if (typeof request === "string") return { kind: "final", problem: request };
    const answer = await sendHttp(request, options.guard);
    if (answer.status >= 200 && answer.status < 300) return { kind: "delivered" };
    if (answer.status !== 410) return retryOutcome(answer);
    options.onGone(uuid);
    return { kind: "final", problem: `${describeAnswer(410, answer.text)}; the integration is switched off` };
  };
}

type WebhookDelivery = Pick<Parameters<Senders["webhook"]>[0], "id" | "nowMs"> & {
  event: Parameters<Senders["webhook"]>[0]["events"][number];
};

/** Returns the request, or a text that says what is wrong with the integration. */
function makeRequest(
  webhook: Webhook,
  { id, event, nowMs }: WebhookDelivery,
  publicUrl: string,
): HttpRequest | string {
  const variables = variablesOf(event, publicUrl);
  const headers = Object.fromEntries(
    Object.entries(webhook.headers ?? {}).map(([name, value]) => [name, fillHeader(value, variables)]),
  );
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const template = webhook.body ?? "";
  const method = webhook.method ?? "POST";
  // Without a template, a GET has no body.
  const plain = method === "GET" ? "" : JSON.stringify(envelopeOf(event, publicUrl));
  const body = template === "" ? plain : fillBody(template, contentType, variables);
  const type = contentType === undefined ? { "Content-Type": "application/json" } : {};
  try {
    const url = fillUrl(webhook.url, variables);
    const signed = signHeaders(id, nowMs, body, webhook.secret);
    return { method, url, headers: { "User-Agent": "svc", ...type, ...headers, ...signed }, body };
  } catch (error) {
    return (error as Error).message;
  }
}
