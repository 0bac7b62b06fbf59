/** Who uses the page, as the server sees it. */

import { signal } from "@preact/signals";
import { ask, needsSignIn } from "./client.ts";

interface Person {
  signedIn: boolean;
  name: string;
  role: string;
  /** What the person may do, such as `search` and `configure`. */
  permissions: string[];
  features: { signIn: boolean; oidc: boolean; anonymousRead: boolean };
}

export const session = signal<Person | undefined>(undefined);

/** How often another person has signed in since the page was loaded. */
export const personCount = signal(0);

/** Asks the server anew who uses the page. */
export async function loadSession(): Promise<void> {
  session.value = await ask<Person>("/api/v1/session");
}

/** Signs in with a token. Rejects with ApiProblem. */
export async function signIn(token: string): Promise<void> {
  const before = session.value?.name;
  await ask("/api/v1/session", { body: { token } });
  await loadSession();
  if (before !== undefined && session.value?.name !== before) personCount.value++;
  needsSignIn.value = false;
}

/** Signs out. Resolves with the next address: the sign-out page of the identity provider where it has one, else `/signin`. */
export async function signOut(): Promise<string> {
  const { redirect } = await ask<{ redirect?: string }>("/api/v1/session", { method: "DELETE" });
  return redirect ?? "/signin";
}

/** Whether the person may do something; false until that is known. */
export function may(permission: string): boolean {
  return session.value?.permissions.includes(permission) ?? false;
}
