/** The screen on which a person signs in: with a token, or at the identity provider. */

import { useState } from "preact/hooks";
import type { ApiProblem } from "../api/client.ts";
import { session, signIn } from "../api/session.ts";
import { go, parameters, path } from "../browser/address.ts";

/** What the codes of a login that failed mean. */
const loginProblems: Readonly<Record<string, string>> = {
  state: "The login took too long, or was begun in another window. Try again.",
  denied: "The identity provider has refused the login.",
  code: "The identity provider did not take the login's code. Try again.",
  token: "The identity provider's token was not right. The server's log says why.",
  group: "You are in none of the groups that may use this server.",
  issuer: "The identity provider cannot be reached.",
  transport: "Signing in needs HTTPS here.",
  busy: "Too many logins at once. Try again in a moment.",
};

export function SignInScreen() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(loginProblems[parameters.value.get("error") ?? ""] ?? "");
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      await signIn(token.trim());
      if (path.value === "/signin") go(returnPath(), { replace: true });
    } catch (error) {
      setProblem((error as ApiProblem).message);
    }
  };
  return (
    <form class="sign-in" onSubmit={send}>
      <h1>Sign in</h1>
      {problem === "" ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {session.value?.features.oidc === true ? (
        <a
          class="button primary"
          href={`/api/v1/session/oidc/start?return=${encodeURIComponent(returnPath())}`}
        >
          Sign in with your identity provider
        </a>
      ) : null}
      <label>
        Token
        <input
          type="password"
          autocomplete="current-password"
          required
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <p class="hint">
        The first start of the server writes one to <code>data/admin-token</code>;{" "}
        <code>svc token create</code> makes others.
      </p>
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  );
}

/** Where to go after signing in: an address of this page alone. */
function returnPath(): string {
  if (path.value !== "/signin") return location.pathname + location.search;
  const wanted = parameters.value.get("return") ?? "/";
  return /^\/(?![/\\])/.test(wanted) ? wanted : "/";
}
