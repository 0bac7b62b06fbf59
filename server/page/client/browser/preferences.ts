/** What a person has set for this browser: kept in its local storage. */

import { type Signal, signal } from "@preact/signals";

/** Preferences that tell what a person did, and not only how the page looks. */
const personalNames = ["queries"] as const;

/** A preference by its name. Where the browser keeps nothing, it lasts as long as the page. */
export function preference(name: string, otherwise: string): Signal<string> {
  const key = keyOf(name);
  const value = signal(read(key) ?? otherwise);
  value.subscribe((next) => {
    try {
      if (next === otherwise) localStorage.removeItem(key);
      else localStorage.setItem(key, next);
    } catch {
      // Private windows may keep nothing.
    }
  });
  // Another window of this browser may change it.
  window.addEventListener("storage", (event) => {
    if (event.key === key) value.value = event.newValue ?? otherwise;
  });
  return value;
}

/** Removes what tells what a person did. */
export function forgetPerson(): void {
  try {
    for (const name of personalNames) localStorage.removeItem(keyOf(name));
  } catch {
    // What keeps nothing has nothing to remove.
  }
}

function keyOf(name: string): string {
  return `svc.${name}`;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
