/** /api/v1/tokens: create, list, read, revoke. */

import { fieldsOf, integerField, isGiven, oneOfField, stringField } from "../fields.ts";
import { jsonBody, parseJsonBody } from "../json-body.ts";
import { timeMsMax } from "../limits.ts";
import type { Reply, Route, ServerRequest } from "../route.ts";
import { jsonReply, Refusal, roles } from "../route.ts";
import type { TokenRecord, Tokens } from "./tokens.ts";

const permission = "manage tokens";
const deadlineMs = 10_000;
const nameLengthMax = 200;

export function tokenRoutes(tokens: Tokens, now: () => number): Route[] {
  const path = "/api/v1/tokens";
  const one = `${path}/{id}`;
  const shape = { permission, deadlineMs } as const;
  return [
    { ...shape, method: "POST", path, body: jsonBody, answer: (request) => create(tokens, now, request) },
    {
      ...shape,
      method: "GET",
      path,
      body: null,
      answer: async () => jsonReply({ tokens: tokens.list().map(shownToken) }),
    },
    { ...shape, method: "GET", path: one, body: null, answer: async (request) => read(tokens, request) },
    { ...shape, method: "DELETE", path: one, body: null, answer: (request) => revoke(tokens, request) },
  ];
}

async function create(tokens: Tokens, now: () => number, request: ServerRequest): Promise<Reply> {
  const fields = fieldsOf(parseJsonBody(request), "", ["name", "role", "expiresAt"]);
  const role = oneOfField(fields, "role", roles);
  const name = isGiven(fields, "name") ? stringField(fields, "name") : role;
  if (name.length > nameLengthMax)
    throw new Refusal(400, `name must have at most ${nameLengthMax} characters`);
  const expiresAtMs = isGiven(fields, "expiresAt")
    ? integerField(fields, "expiresAt", {
        min: now() + 1,
        max: timeMsMax,
        expected: "an integer in the future, Unix time in milliseconds",
      })
    : null;
  const { record, token } = await tokens.create({ name, role, expiresAtMs });
  return jsonReply({ ...shownToken(record), token });
}

function read(tokens: Tokens, request: ServerRequest): Reply {
  const record = tokens.get(request.params.id!);
  if (record === undefined) throw unknown(request);
  return jsonReply(shownToken(record));
}

async function revoke(tokens: Tokens, request: ServerRequest): Promise<Reply> {
  const id = request.params.id!;
  if (!(await tokens.revoke(id))) throw unknown(request);
  return jsonReply({ id });
}

function unknown(request: ServerRequest): Refusal {
  return new Refusal(404, `there is no token of id ${JSON.stringify(request.params.id!.slice(0, 60))}`);
}

/** What may be shown of a token: all but its hash. */
function shownToken(record: TokenRecord) {
  const { id, name, role, createdAtMs, expiresAtMs } = record;
  return {
    id,
    name,
    role,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expiresAt: expiresAtMs }),
  };
}
