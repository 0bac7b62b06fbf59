/** An OpenID Connect issuer that is certified (oidc-provider), and people who sign in at it. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK } from "jose";
// @ts-expect-error: the package has no types.
import Untyped from "oidc-provider";
import { keyOf } from "../access/issuer.ts";

/** What is used of oidc-provider. */
interface Provider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void;
  interactionDetails(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{
    prompt: { name: string; details: { missingOIDCScope?: string[] } };
    params: { client_id: string };
    session?: { accountId: string };
  }>;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  Grant: new (
    of: object,
  ) => {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  };
}

const ProviderClass = Untyped as unknown as new (issuer: string, configuration: object) => Provider;

export interface CertifiedIssuer {
  url: string;
  /** Claims of people by their subject. */
  people: Record<string, Record<string, unknown>>;
  /** Who signs in next; null: whoever it is cancels. */
  person: string | null;
  /** Begins to answer, for a client that is served at `url`. */
  serve(url: string, client?: object): Promise<void>;
  /** Goes where a server of this issuer sent the browser, signs in, and returns where the browser is sent back to. */
  visit(url: string): Promise<string>;
  stop(): Promise<void>;
}

export const clientId = "svc-web";
export const clientSecret = "a secret: with + and %";

/** `claimsInIdToken`: false where claims of scopes are to be asked of the userinfo endpoint. */
export async function startCertifiedIssuer(claimsInIdToken: boolean): Promise<CertifiedIssuer> {
  const { jwk, privateKey } = await keyOf("RS256", "certified");
  const secretJwk = { ...jwk, ...(await exportJWK(privateKey)) };
  const server: Server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let answer = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(503).end();
  let visited = new Map<string, string>();
  const issuer: CertifiedIssuer = {
    url,
    people: {},
    person: null,
    serve: async (clientUrl, client = {}) => {
      const provider = new ProviderClass(url, {
        clients: [
          {
            client_id: clientId,
            client_secret: clientSecret,
            redirect_uris: [`${clientUrl}/api/v1/session/oidc/callback`],
            post_logout_redirect_uris: [`${clientUrl}/signin`],
            ...client,
          },
        ],
        jwks: { keys: [secretJwk] },
        cookies: { keys: ["a key of the issuer's cookies"] },
        pkce: { required: () => true },
        scopes: ["openid", "groups"],
        claims: { openid: ["sub"], profile: ["name"], email: ["email"], groups: ["groups"] },
        conformIdTokenClaims: !claimsInIdToken,
        features: {
          devInteractions: { enabled: false },
          // The package's own page loads fonts from elsewhere.
          rpInitiatedLogout: {
            enabled: true,
            logoutSource: (context: { body: string }, form: string) => {
              context.body = `<!doctype html><title>Sign out</title>${form}`;
            },
          },
        },
        interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
        findAccount: (_: unknown, accountId: string) => ({
          accountId,
          claims: () => ({ sub: accountId, ...issuer.people[accountId] }),
        }),
        ttl: { IdToken: 600, AccessToken: 600, Grant: 3600, Interaction: 600, Session: 3600 },
      });
      const callback = provider.callback();
      visited = new Map();
      answer = (request, response) => {
        if (request.url!.startsWith("/interaction/"))
          void interact(provider, issuer.person, request, response);
        else callback(request, response);
      };
    },
    visit: (from) => follow(url, from, visited),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

/** Signs the person in and agrees to what is asked, or cancels. */
async function interact(
  provider: Provider,
  person: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (person === null)
    return provider.interactionFinished(request, response, {
      error: "access_denied",
      error_description: "no",
    });
  if (prompt.name === "login")
    return provider.interactionFinished(request, response, { login: { accountId: person } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: params.client_id });
  grant.addOIDCScope(prompt.details.missingOIDCScope?.join(" ") ?? "openid");
  const grantId = await grant.save();
  return provider.interactionFinished(request, response, { consent: { grantId } });
}

/** Follows redirects within the issuer, with its cookies. */
async function follow(issuer: string, from: string, cookies: Map<string, string>): Promise<string> {
  let at = from;
  for (let i = 0; i < 10 && at.startsWith(issuer); i++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(at, { redirect: "manual", headers: { Cookie: cookie } });
    const text = await response.text();
    for (const set of response.headers.getSetCookie()) {
      const [pair = ""] = set.split(";");
      const [name = "", value = ""] = pair.split("=");
      if (/expires=Thu, 01 Jan 1970/i.test(set)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${at} answered ${response.status}: ${text.slice(0, 500)}`);
    at = new URL(location, at).href;
  }
  return at;
}
