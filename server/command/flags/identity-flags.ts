/** Which identity provider vouches for users. */

import { anyText, one } from "./flag.ts";
import { UsageError } from "./units.ts";

export const identityFlags = {
  "oidc-issuer": {
    value: "URL",
    help: "an OpenID Connect issuer whose tokens users may send, as it stands in their claim iss",
    defaultSays: "none: tokens of this server alone",
    parse: one(parseIssuer),
  },
  "oidc-audience": {
    value: "NAME",
    help: "whom a token must be meant for, as it stands in its claim aud: the client id, mostly",
    defaultSays: "none; required with --oidc-issuer",
    many: true,
    parse: (texts: readonly string[]) => texts.map(anyText),
  },
  "oidc-groups-claim": {
    value: "NAME",
    help: "the claim that lists a user's groups, such as groups or realm_access.roles",
    default: "groups",
    parse: one(anyText),
  },
} as const;

/** What the flags come out as. */
interface IdentityValues {
  "oidc-issuer": string | null;
  "oidc-audience": string[] | null;
  "oidc-groups-claim": string;
}

/** Throws UsageError where one of issuer and audience is given without the other. */
export function identitySettings(values: IdentityValues) {
  const issuer = values["oidc-issuer"];
  const audiences = values["oidc-audience"] ?? [];
  if (issuer === null && audiences.length === 0) return {};
  if (issuer === null) throw new UsageError("--oidc-audience needs --oidc-issuer");
  // Without it, tokens that the same issuer made for any other program would do.
  if (audiences.length === 0)
    throw new UsageError("--oidc-issuer needs --oidc-audience: whom tokens must be meant for");
  return { identity: { issuer, audiences, groupsClaim: values["oidc-groups-claim"] } };
}

/** It is compared with what tokens say, letter by letter. */
function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isHere = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isPlain = url !== null && url.search === "" && url.hash === "" && url.username === "";
  if ((url?.protocol === "https:" || isHere) && isPlain) return text;
  throw new UsageError(
    "an address such as https://login.example.com/realms/shop (http: on this machine alone)",
  );
}
