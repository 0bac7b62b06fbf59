import { createHmac } from "node:crypto";

/** Makes headers of Standard Webhooks (https://www.standardwebhooks.com). `secret`: `whsec_` and the key in base64. */
export function signHeaders(
  id: string,
  timestampMs: number,
  body: string,
  secret: string | null | undefined,
): Record<string, string> {
  const timestamp = String(Math.floor(timestampMs / 1000));
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (secret === null || secret === undefined) return headers;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...headers, "webhook-signature": `v1,${digest}` };
}
