/** Webhook integrations: HTTP destinations of alerts and investigations. */

import * as z from "zod";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { listedMax } from "./limits.ts";
import { sentId } from "./resource-id.ts";
import { longText, nameText, secretText, strictObject } from "./schema.ts";

/** Name of a header. */
export const headerName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be a header's name");
/** One line: a line break would begin another header. */
const headerValue = secretText(8_192, /^[^\r\n\0]*$/, "must be one line");

/** A signing secret as Standard Webhooks defines it. */
const signingSecret = secretText(
  200,
  /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
  "must be whsec_ and 24 to 64 bytes in base64",
);

export const webhookShape = strictObject({
  id: sentId.optional(),
  /** Variables such as `$alert_name` are replaced when an event is sent. */
  url: z.string().min(1).max(8_192),
  displayName: nameText.optional(),
  method: z.enum(["POST", "GET", "PUT", "PATCH", "DELETE"]).optional(),
  headers: z.record(headerName, headerValue).optional(),
  /** Empty or absent: the default JSON payload. */
  body: longText.optional(),
  /** One message for all instances of an alert that fire within a few seconds; one for each where absent. */
  groupInstances: z.boolean().optional(),
  /** Signs what is sent. Answers never show it; absent from an update keeps it, null removes it. */
  secret: signingSecret.nullable().optional(),
}).meta({ id: "Webhook" });

/** A key of a Secret in the namespace of a custom resource. Its value is read at the time of each delivery. */
export const secretReferenceShape = strictObject({
  secretKeyRef: strictObject({
    /** Name of the Secret. */
    name: z.string().min(1).max(253),
    key: z.string().min(1).max(253),
  }),
});

export type SecretReference = z.infer<typeof secretReferenceShape>;

/** What only webhooks that Kubernetes manages have. */
interface SecretReferences {
  /** By the name of the header. */
  headersFrom?: Readonly<Record<string, SecretReference>> | undefined;
  bodyFrom?: SecretReference | undefined;
}

export type Webhook = z.infer<typeof webhookShape> & SecretReferences;

/**
 * Headers that frame the message, belong to one connection, or that svc sets: a webhook must not set them.
 * https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
 */
const refusedHeaders: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"],
  ...["trailer", "transfer-encoding", "upgrade", "content-length", "expect", "host", "http2-settings"],
  ...["webhook-id", "webhook-timestamp", "webhook-signature"],
]);

/** The first name among `names` that a webhook must not set. */
export function findRefusedHeader(names: readonly string[]): string | undefined {
  return names.find((name) => refusedHeaders.has(name.toLowerCase()));
}

/** Throws Refusal 400 naming the field below `path`. */
export function checkWebhook({ url, headers = {}, headersFrom = {} }: Webhook, path: string): void {
  const example = url.replace(/\$[A-Za-z_][A-Za-z0-9_]*/g, "x");
  const parsed = URL.parse(example);
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw makeFieldRefusal(
      `${path}.url`,
      `must be an http or https URL, got ${JSON.stringify(url.slice(0, 60))}`,
    );
  }
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  if (names.length > listedMax) {
    throw makeFieldRefusal(`${path}.headers`, `must have at most ${listedMax} headers`);
  }
  for (const [member, of] of Object.entries({ headers, headersFrom })) {
    const refused = findRefusedHeader(Object.keys(of));
    if (refused === undefined) continue;
    const where = `${path}.${member}`;
    throw makeFieldRefusal(
      where,
      `must not set ${JSON.stringify(refused)}: svc sets it, or the connection does`,
    );
  }
  const duplicate = names.find((name, i) => names.indexOf(name) !== i);
  if (duplicate !== undefined)
    throw makeFieldRefusal(`${path}.headers`, `has ${JSON.stringify(duplicate)} twice`);
}
