/** Sends events to webhook integrations, as Standard Webhooks specifies. */
import type { NotificationEvent } from "../../model/event.ts";
import type { ManagedPlace } from "../../model/stored-resource.ts";
import { findRefusedHeader, type SecretReference, type Webhook } from "../../model/webhook.ts";
import { envelopeOf, groupEnvelopeOf } from "../message/envelope.ts";
import { rulesOf } from "../message/event-types.ts";
import { encodeHeader, fillBody, fillHeader, fillUrl } from "../message/template.ts";
import { groupVariablesOf } from "../message/variables.ts";
import type { AddressGuard } from "./address-guard.ts";
import { describeAnswer, type HttpRequest, retryOutcome, sendHttp } from "./http-request.ts";
import type { Outcome, Senders } from "./sender.ts";
import { signHeaders } from "./signature.ts";

/** Reads a Secret at its place. Returns its value, or why it cannot be read now; the value is never kept. */
export type ReadSecret = (
  place: ManagedPlace,
  reference: SecretReference,
) => Promise<{ value: string } | { problem: string }>;

export interface WebhookOptions {
  webhookOf: (uuid: string) => { value: Webhook; managed?: ManagedPlace } | undefined;
  /** Returns whether the integration may be sent an event: see `mayReceive` of the control plane. */
  mayReceive: (uuid: string, event: NotificationEvent) => boolean;
  readSecret: ReadSecret;
  /** Called when the receiver answers 410: it is gone for good. */
  onGone: (uuid: string) => void;
  /** Returns whether an earlier 410 has switched the integration off. */
  isOff: (uuid: string) => boolean;
  guard: AddressGuard;
  publicUrl: string;
}

const changedProblem =
  "the alert does not name the webhook any more, and somebody changed it since who may not read what the alert reads";

export function webhookSender(options: WebhookOptions): Senders["webhook"] {
  return async ({ id, action, events, nowMs }): Promise<Outcome> => {
    const { uuid: firedUuid, resolvedUuid } = action.webhookDestination;
    const uuid = rulesOf(events[0]!.type).pagerDuty === "resolve" ? (resolvedUuid ?? firedUuid) : firedUuid;
    const stored = options.webhookOf(uuid);
    if (stored === undefined)
      return { kind: "final", problem: `there is no webhook integration ${JSON.stringify(uuid)}` };
    if (!events.every((event) => options.mayReceive(uuid, event)))
      return { kind: "final", problem: changedProblem };
    if (options.isOff(uuid))
      return { kind: "final", problem: "the webhook integration is switched off: it answered 410 before" };
    const secrets = await readSecrets(stored.value, stored.managed, options.readSecret);
    if ("problem" in secrets) return { kind: "retry", problem: secrets.problem, isRefused: true };
    const request = makeRequest(stored.value, secrets, { id, events, nowMs }, options.publicUrl);
    if (typeof request === "string") return { kind: "final", problem: request };
    const answer = hideSecrets(await sendHttp(request, options.guard), secrets);
    if (answer.status >= 200 && answer.status < 300) return { kind: "delivered" };
    if (answer.status !== 410) return retryOutcome(answer);
    options.onGone(uuid);
    return { kind: "final", problem: `${describeAnswer(410, answer.text)}; the integration is switched off` };
  };
}

type WebhookDelivery = Pick<Parameters<Senders["webhook"]>[0], "id" | "nowMs" | "events">;

/** Values of Secrets for one request. */
interface ReadSecrets {
  headers: Record<string, string>;
  body: string | undefined;
}

async function readSecrets(
  { headersFrom = {}, bodyFrom }: Webhook,
  place: ManagedPlace | undefined,
  readSecret: ReadSecret,
): Promise<ReadSecrets | { problem: string }> {
  const secrets: ReadSecrets = { headers: {}, body: undefined };
  if (place === undefined) return secrets;
  const named = Object.entries(headersFrom);
  const read = await Promise.all(named.map(([, reference]) => readSecret(place, reference)));
  for (const [i, [name]] of named.entries()) {
    const secret = read[i]!;
    if ("problem" in secret) return secret;
    // A line break would begin another header. The value itself stays out of the message.
    if (/[\r\n\0]/.test(secret.value.trim()))
      return { problem: `the Secret of the header ${JSON.stringify(name)} must hold one line` };
    secrets.headers[name] = secret.value.trim();
  }
  if (bodyFrom === undefined) return secrets;
  const body = await readSecret(place, bodyFrom);
  if ("problem" in body) return body;
  return { ...secrets, body: body.value };
}

/**
 * The answer without values of Secrets that the receiver sent back: outcomes are stored and shown. Where the body is that of a Secret,
 * any part of it may come back, and the text is left out.
 */
function hideSecrets<Answer extends { text: string }>(
  answer: Answer,
  { headers, body }: ReadSecrets,
): Answer {
  if (body !== undefined) return { ...answer, text: "" };
  let { text } = answer;
  for (const value of Object.values(headers)) {
    if (value !== "") text = text.replaceAll(value, "[secret]");
  }
  return { ...answer, text };
}

/** Returns the request, or a text that says what is wrong with the integration. */
function makeRequest(
  webhook: Webhook,
  secrets: ReadSecrets,
  { id, events, nowMs }: WebhookDelivery,
  publicUrl: string,
): HttpRequest | string {
  const variables = groupVariablesOf(events, publicUrl);
  const filled = Object.entries(webhook.headers ?? {}).map(([name, value]) => [
    name,
    fillHeader(value, variables),
  ]);
  const secretHeaders = Object.entries(secrets.headers).map(([name, value]) => [name, encodeHeader(value)]);
  const headers: Record<string, string> = Object.fromEntries([...filled, ...secretHeaders]);
  // One that was stored before such headers were refused.
  const refused = findRefusedHeader(Object.keys(headers));
  if (refused !== undefined) return `the webhook must not set the header ${JSON.stringify(refused)}`;
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const template = secrets.body ?? webhook.body ?? "";
  const method = webhook.method ?? "POST";
  // Without a template, a GET has no body.
  const isGroup = webhook.groupInstances === true || events.length > 1;
  const envelope = isGroup ? groupEnvelopeOf(id, events, publicUrl) : envelopeOf(events[0]!, publicUrl);
  const plain = method === "GET" ? "" : JSON.stringify(envelope);
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
