/** /api/v1/environments: create, list, read, delete. Creating one shows its token, once. */

import * as z from "zod";
import type { Tokens } from "../access/tokens.ts";
import { jsonBody, parseJsonBody } from "../api/json-body.ts";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { checked } from "../api/validation.ts";
import { Refusal } from "../limits/refusal.ts";
import { purseOf } from "../model/caller.ts";
import { type Environment, environmentShape } from "../model/environment.ts";
import { idOrNew } from "../model/resource-id.ts";
import { fixed } from "../model/schema.ts";
import type { Collection } from "./collection.ts";
import type { ResourceEdge } from "./resource-routes.ts";
import { resourceRoutes } from "./resource-routes.ts";

const path = "/api/v1/environments";

export function environmentRoutes(
  collection: Collection<Environment>,
  tokens: Tokens,
  edge: ResourceEdge,
): Route[] {
  const reads = resourceRoutes<Environment>(
    {
      name: "environment",
      plural: "environments",
      path,
      shape: environmentShape,
      collection,
      read: "search",
      write: "manage access",
      style: "upsert",
      idPath: "name",
      idOf: ({ name }) => name,
      withId: (value) => value,
      check: () => [],
    },
    edge,
  ).filter(({ method }) => method === "GET");
  const shape = { permission: "manage access", deadlineMs: 10_000 } as const;
  const tag = "environments";
  return [
    {
      ...shape,
      method: "POST",
      path: `${path}/create`,
      body: jsonBody,
      description: {
        summary: "Creates an environment; the answer shows its token, once",
        tag,
        request: fixed({ environment: environmentShape }),
        response: fixed({ token: z.string() }),
        errors: [409, 413, 415, 429],
      },
      answer: (request) => create(collection, tokens, edge, request),
    },
    ...reads,
    {
      ...shape,
      method: "DELETE",
      path: `${path}/{id}`,
      body: null,
      description: {
        summary: "Deletes an environment and revokes its tokens",
        tag,
        response: fixed({ id: z.string() }),
        conditional: true,
        errors: [404, 412, 429],
      },
      answer: (request) => remove(collection, tokens, edge, request),
    },
  ];
}

/** The environment and its token are written together. */
async function create(
  collection: Collection<Environment>,
  tokens: Tokens,
  edge: ResourceEdge,
  request: ServerRequest,
): Promise<Reply> {
  edge.rate.spend(purseOf(request.caller));
  const body = checked(fixed({ environment: environmentShape }), parseJsonBody(request), "");
  const { environment } = body;
  const { name } = environment;
  idOrNew(name, "environment.name");
  let token = "";
  const wanted = { name, role: "ingest", expiresAtMs: null, environment: name } as const;
  await collection.put(
    name,
    (before) => {
      if (before === undefined) return environment;
      throw new Refusal(409, `environment.name: there is an environment ${JSON.stringify(name)} already`);
    },
    {
      by: request.caller,
      ifMatch: null,
      commit: async (changes) => {
        const minted = await tokens.create(wanted, (_, own, write) => write([...own, ...changes]));
        token = minted.token;
      },
    },
  );
  return jsonReply({ token });
}

/** Its tokens end with it. */
async function remove(
  collection: Collection<Environment>,
  tokens: Tokens,
  edge: ResourceEdge,
  request: ServerRequest,
): Promise<Reply> {
  edge.rate.spend(purseOf(request.caller));
  const id = request.params.id!;
  const ids = tokens.list().filter(({ environment }) => environment === id);
  const removed = await collection.remove(id, {
    by: request.caller,
    ifMatch: request.headers.get("if-match") ?? null,
    commit: (changes) =>
      tokens.revoke(
        ids.map((token) => token.id),
        (own, write) => write([...own, ...changes]),
      ),
  });
  if (removed) return jsonReply({ id });
  throw new Refusal(404, `there is no environment of id ${JSON.stringify(id.slice(0, 100))}`);
}
