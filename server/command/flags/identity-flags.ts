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
    defaultText: "none; required with --oidc-issuer",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseText),
  },
  "oidc-groups-claim": {
    placeholder: "NAME",
    help: "the claim that lists a user's groups, such as groups or realm_access.roles",
    default: "groups",
    parse: takeLast(parseText),
  },
} as const;

/** Throws UsageError where one of issuer and audience is given without the other. */
export function identitySettings(values: Settings<typeof identityFlags>) {
  const issuer = values["oidc-issuer"];
  const audiences = values["oidc-audience"] ?? [];
  if (issuer === null && audiences.length === 0) return {};
  if (issuer === null) throw new UsageError("--oidc-audience needs --oidc-issuer");
  // Without an audience, tokens that the issuer signed for any other program would be accepted.
  if (audiences.length === 0)
    throw new UsageError("--oidc-issuer needs --oidc-audience: whom tokens must be meant for");
  return { identity: { issuer, audiences, groupsClaim: values["oidc-groups-claim"] } };
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
