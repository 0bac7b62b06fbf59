/** What the editor suggests at the caret: words of the language, and names of the stored rows. */

import { signal } from "@preact/signals";
import type * as Language from "./language.ts";

/** A name of the stored rows, and how many rows have it. */
interface StoredName {
  name: string;
  rows: number | undefined;
}

/** Asks for names that begin with a prefix, those of most rows first. */
export type NameSource = (
  wanted: Language.WantedNames,
  prefix: string,
  aborting: AbortSignal,
) => Promise<StoredName[]>;

/** One thing that the caret's word may become. */
export interface Suggestion {
  label: string;
  /** What it is, in a word or a number. */
  note: string;
  insert: string;
  from: number;
  to: number;
}

export interface Completions {
  readonly suggestions: readonly Suggestion[];
  /** The index of the suggestion that Enter takes; undefined where none was chosen. */
  readonly active: number | undefined;
  /** The id of its element. */
  readonly activeId: string | undefined;
  /** Looks for suggestions. Where they were not asked for, a caret without a word has none. */
  suggest(
    language: typeof Language,
    text: string,
    offset: number,
    what: "rows" | "series",
    options?: { isAsked?: boolean },
  ): void;
  close(): void;
  /** True where the key was for the list. */
  takeKey(event: KeyboardEvent, accept: (suggestion: Suggestion) => void): boolean;
}

/** Milliseconds without a key before the server is asked. */
const pauseMs = 90;
const suggestionsMax = 12;

export function makeCompletions(names: NameSource): Completions {
  const suggestions = signal<readonly Suggestion[]>([]);
  const active = signal<number | undefined>(undefined);
  let asking: AbortController | undefined;

  function show(next: readonly Suggestion[]): void {
    suggestions.value = next.slice(0, suggestionsMax);
    active.value = undefined;
  }

  function close(): void {
    asking?.abort();
    show([]);
  }

  function suggest(
    language: typeof Language,
    text: string,
    offset: number,
    what: "rows" | "series",
    { isAsked = false }: { isAsked?: boolean } = {},
  ): void {
    asking?.abort();
    const found = language.completeQuery(text, offset, what);
    const { prefix, wanted } = found;
    const isEmpty = !isAsked && prefix === "" && wanted?.kind !== "value";
    const words = (isEmpty ? [] : found.words).map((word) => ({
      ...{ label: word, note: "", insert: word },
      ...{ from: found.from, to: found.to },
    }));
    show(words);
    if (wanted === undefined || isEmpty) return;
    const own = new AbortController();
    asking = own;
    setTimeout(async () => {
      if (own.signal.aborted) return;
      const stored = await names(wanted, prefix, own.signal).catch(() => []);
      if (own.signal.aborted) return;
      const named = stored.map(({ name, rows }) => ({
        ...{ label: name, note: rows?.toLocaleString("en") ?? "", insert: found.quote(name) },
        ...{ from: found.from, to: found.to },
      }));
      show([...named.filter(({ label }) => label !== prefix), ...words]);
    }, pauseMs);
  }

  function takeKey(event: KeyboardEvent, accept: (suggestion: Suggestion) => void): boolean {
    const { length } = suggestions.value;
    if (length === 0) return false;
    const chosen = active.value === undefined ? undefined : suggestions.value[active.value];
    switch (event.key) {
      case "ArrowDown":
        active.value = active.value === undefined ? 0 : (active.value + 1) % length;
        return true;
      case "ArrowUp":
        active.value = active.value === undefined ? length - 1 : (active.value + length - 1) % length;
        return true;
      case "Tab":
        accept(chosen ?? suggestions.value[0]!);
        return true;
      case "Enter":
        if (chosen === undefined) return false;
        accept(chosen);
        return true;
      case "Escape":
        close();
        return true;
      default:
        return false;
    }
  }

  return {
    get suggestions() {
      return suggestions.value;
    },
    get active() {
      return active.value;
    },
    get activeId() {
      return active.value === undefined ? undefined : `completion-${active.value}`;
    },
    ...{ suggest, close, takeKey },
  };
}
