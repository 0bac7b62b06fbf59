/** The routes of `/api/v1/environments`: create, list, read, delete. Only the answer to a creation shows the token. */

import * as z from "zod";
import type { Tokens } from "../access/tokens.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import type { Caller } from "../model/caller.ts";
import { type Environment, environmentShape } from "../model/environment.ts";
import { checkOrMakeId } from "../model/resource-id.ts";
import { strictObject } from "../model/schema.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Audit } from "./audit.ts";
import { removalsOfCluster, usesOfCluster } from "./cluster-resources.ts";
import type { Collection, Write } from "./collection.ts";
import type { Collections } from "./resource-kinds.ts";
import {
  ifMatchHeader,
  makeNotFoundRefusal,
  type ReadableKind,
  type ResourceContext,
  readRoutes,
  toWrite,
} from "./resource-routes.ts";
import { refuseUsed, usesOfEnvironment } from "./uses.ts";

const path = "/api/v1/environments";
const name = "environment";

export function environmentRoutes(
  collections: Collections,
  tokens: Tokens,
  audit: Audit,
  context: ResourceContext,
): Route[] {
  const { environments: collection } = collections;
  const { limitRate } = context;
  const changing = { permission: "manage access", tag: "environments", limitRate } as const;
  const kind: ReadableKind<Environment> = {
    name,
    plural: "environments",
    path,
    schema: environmentShape,
    collection,
    read: "search",
    write: "manage access",
  };
  return [
    defineRoute({
      ...changing,
      method: "POST",
      path: `${path}/create`,
      summary: "Creates an environment; the answer shows its token, once",
      body: json(strictObject({ environment: environmentShape })),
      response: strictObject({ token: z.string() }),
      errors: [409, 429],
      handle: ({ body, caller }) => create(collection, tokens, body.environment, caller),
    }),
    ...readRoutes(kind, context),
    defineRoute({
      ...changing,
      method: "DELETE",
      path: `${path}/{id}`,
      summary: "Deletes an environment, its tokens, and what its cluster manages",
      headers: ifMatchHeader,
      response: strictObject({ id: z.string() }),
      errors: [404, 409, 412, 429],
      handle: (input) => remove({ collections, tokens, audit }, input.params.id, toWrite(input)),
    }),
  ];
}

/** Writes the environment and its token in one commit. */
async function create(
  collection: Collection<Environment>,
  tokens: Tokens,
  environment: Environment,
  caller: Caller,
): Promise<{ token: string }> {
  const { name } = environment;
  checkOrMakeId(name, "environment.name");
  let token = "";
  const newToken = { name, role: "ingest", expiresAtMs: null, environment: name } as const;
  await collection.put(
    name,
    (before) => {
      if (before === undefined) return environment;
      throw new Refusal(409, `environment.name: there is an environment ${JSON.stringify(name)} already`);
    },
    {
      by: caller,
      ifMatch: null,
      commit: async (changes) => {
        const minted = await tokens.create(newToken, (_, added, write) => write([...added, ...changes]));
        token = minted.token;
      },
    },
  );
  return { token };
}

/**
 * Deletes the environment, its tokens, and the resources that its cluster manages, in one commit. Throws Refusal 409
 * where others use them.
 */
async function remove(
  { collections, tokens, audit }: { collections: Collections; tokens: Tokens; audit: Audit },
  id: string,
  write: Write,
): Promise<{ id: string }> {
  const refuseIfUsed = () =>
    refuseUsed("environment", [...usesOfEnvironment(collections, id), ...usesOfCluster(collections, id)]);
  const commit: Write["commit"] = (changes) => {
    const ownTokens = tokens.list().filter(({ environment }) => environment === id);
    return tokens.revoke(
      ownTokens.map((token) => token.id),
      // Tokens of environments send rows, and save nothing.
      () => false,
      async (revoked, commitAll) => {
        // From now on nothing more is taken of the exporter. What was taken before is there after this commit.
        await commitAll([]);
        refuseIfUsed();
        const removals = removalsOfCluster(collections, id, write.by);
        const audited = removals.map((removal) => removal.audited);
        const removed = removals.map(({ change }) => change);
        await audit.commitAll(audited, [...removed, ...revoked, ...changes], commitAll);
      },
    );
  };
  // It is asked before as well: the tokens of what is in use are to work on without a gap.
  const isRemoved = await collections.environments.remove(id, { ...write, commit }, refuseIfUsed);
  if (isRemoved) return { id };
  throw makeNotFoundRefusal({ name }, id);
}
