/** What a person has set for this browser: kept in its local storage. */

import { type Signal, signal } from "@preact/signals";

/** A preference by its name. Where the browser keeps nothing, it lasts as long as the page. */
export function preference(name: string, otherwise: string): Signal<string> {
  const key = `svc.${name}`;
  const value = signal(read(key) ?? otherwise);
  value.subscribe((next) => {
    try {
      if (next === otherwise) localStorage.removeItem(key);
      else localStorage.setItem(key, next);
    } catch {
      // Private windows may keep nothing.
    }
  });
  return value;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
