/** Requests that store nothing: what a caller may do, and tokens of service accounts. */
import { randomBytes } from "node:crypto";
import type { Access, Allow, Caller } from "./access.ts";
import { type Fields, readPath, toTimestamp } from "./objects.ts";

const tokenSeconds = 3600;

/** Answers a `SelfSubjectAccessReview`. */
export function reviewAccess(review: unknown, caller: Caller, allow: Allow): Fields {
  const read = (name: string) => String(readPath(review, `spec.resourceAttributes.${name}`) ?? "");
  const allowed = allow({
    ...{ caller, verb: read("verb"), group: read("group"), resource: read("resource") },
    ...{ subresource: read("subresource") || undefined, namespace: read("namespace"), name: read("name") },
  });
  return { ...(review as Fields), status: { allowed } };
}

/** Answers a `TokenRequest` with a token that ends after `spec.expirationSeconds`. */
export function issueToken(
  request: unknown,
  account: { namespace: string; name: string },
  access: Access,
  now: Date,
): Fields {
  const seconds = Number(readPath(request, "spec.expirationSeconds") ?? tokenSeconds);
  const expiresAt = new Date(now.getTime() + seconds * 1000);
  const token = randomBytes(24).toString("base64url");
  const name = `system:serviceaccount:${account.namespace}:${account.name}`;
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${account.namespace}`,
    "system:authenticated",
  ];
  access.addToken(token, { name, groups }, expiresAt.getTime());
  const status = { token, expirationTimestamp: toTimestamp(expiresAt) };
  return { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: account, status };
}
