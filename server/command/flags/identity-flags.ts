/** Flags of `svc serve` for the identity provider that signs the tokens of users. */

import { parseText, type Settings, takeLast } from "./flag.ts";
import { UsageError } from "./units.ts";

export const identityFlags = {
  "oidc-issuer": {
    placeholder: "URL",
    help: "an OpenID Connect issuer whose tokens users may send, as it stands in their claim iss",
    defaultText: "none: tokens of this server alone",
    parse: takeLast(parseIssuer),
  },
  "oidc-audience": {
    placeholder: "NAME",
    help: "whom a token must be meant for, as it stands in its claim aud: the client id, mostly",
    defaultText: "--oidc-client-id; one of them is required with --oidc-issuer",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseText),
  },
  "oidc-groups-claim": {
    placeholder: "NAME",
    help: "the claim that lists a user's groups, such as groups or realm_access.roles",
    default: "groups",
    parse: takeLast(parseText),
  },
  "oidc-client-id": {
    placeholder: "NAME",
    help: "how this server is known at the issuer: lets people sign in there with their browsers",
    defaultText: "none: people bring their tokens",
    parse: takeLast(parseText),
  },
  "oidc-client-secret": {
    placeholder: "SECRET",
    help: "the secret of this client",
    defaultText: "none: a public client, which proves by PKCE alone that it began a login",
    isSecret: true,
    parse: takeLast(parseText),
  },
  "oidc-scopes": {
    placeholder: "NAMES",
    help: "what is asked of the issuer when people sign in, with spaces between; openid must be among it",
    default: "openid profile email",
    parse: takeLast(parseScopes),
  },
} as const;

/** Throws UsageError where one of issuer and audience is given without the other, or a secret without its client. */
export function identitySettings(values: Settings<typeof identityFlags>) {
  const { "oidc-issuer": issuer, "oidc-client-id": id, "oidc-client-secret": secret } = values;
  const audiences = values["oidc-audience"] ?? (id === null ? [] : [id]);
  if (secret !== null && id === null) throw new UsageError("--oidc-client-secret needs --oidc-client-id");
  if (issuer === null && audiences.length === 0) return {};
  if (issuer === null)
    throw new UsageError(`--oidc-${id === null ? "audience" : "client-id"} needs --oidc-issuer`);
  // Without an audience, tokens that the issuer signed for any other program would be accepted.
  if (audiences.length === 0)
    throw new UsageError("--oidc-issuer needs --oidc-audience: whom tokens must be meant for");
  const identity = { issuer, audiences, groupsClaim: values["oidc-groups-claim"] };
  if (id === null) return { identity };
  const scopes = values["oidc-scopes"];
  return { identity, oidcClient: { id, scopes, ...(secret === null ? {} : { secret }) } };
}

function parseScopes(text: string): string {
  const scopes = text.split(/\s+/).filter((scope) => scope !== "");
  // Without it, the issuer would give no ID token.
  if (scopes.includes("openid")) return scopes.join(" ");
  throw new UsageError('scopes such as "openid profile email groups"');
}

/** Returns the address unchanged, because the claim `iss` must equal it character by character. */
function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isHere = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isPlain = url !== null && url.search === "" && url.hash === "" && url.username === "";
  if ((url?.protocol === "https:" || isHere) && isPlain) return text;
  throw new UsageError(
    "an address such as https://login.example.com/realms/shop (http: on this machine alone)",
  );
}
