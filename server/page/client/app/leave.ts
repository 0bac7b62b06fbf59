/** The end of a session in the browser: nothing of it is shown or kept. */

import { render } from "preact";
import { signOut } from "../api/session.ts";
import { forgetPerson } from "../browser/preferences.ts";

/** Signs out and leaves the page. Rejects with ApiProblem where the server did not end the session. */
export async function leave(): Promise<void> {
  const next = await signOut();
  // Browsers keep a page that is left, for their Back button: an empty one is kept.
  render(null, document.body);
  forgetPerson();
  location.assign(next);
}

/** A page that the Back button brings back as it was left is loaded anew: its session may have ended meanwhile. */
export function reloadWhenBroughtBack(): void {
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) location.reload();
  });
}
