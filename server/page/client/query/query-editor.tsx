/**
 * The editor of a query: a plain text field above its coloured text. It runs on Enter alone. Until the language is
 * loaded it is the field without colours; nothing that is typed meanwhile is lost.
 */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { loadChunk } from "../api/chunk.ts";
import { CompletionList } from "./completion-list.tsx";
import { makeCompletions, type NameSource, type Suggestion } from "./completions.ts";
import type * as Language from "./language.ts";

interface QueryEditorProps {
  /** The text that runs; the editor takes it over whenever it changes. */
  query: string;
  /** Whether the query finds rows, or is a timeseries query always. */
  what: "rows" | "series";
  /** Asks the server for names of the stored rows. */
  names: NameSource;
  onRun(query: string): void;
  /** Told of each change of the text before it runs. */
  onType?(text: string): void;
}

export function QueryEditor({ query, what, names, onRun, onType }: QueryEditorProps) {
  const [text, setText] = useState(query);
  const [language, setLanguage] = useState<typeof Language | undefined>();
  const field = useRef<HTMLTextAreaElement>(null);
  const isFocused = useSignal(false);
  const completions = useSignal(makeCompletions(names)).value;
  // Before anything else happens: what is typed after the change must not be taken back.
  useLayoutEffect(() => setText(query), [query]);
  useEffect(() => {
    let isLast = true;
    void loadChunk(() => import("./language.ts")).then(
      (loaded) => isLast && setLanguage(loaded),
      // The field goes on without colours.
      () => undefined,
    );
    return () => {
      isLast = false;
    };
  }, []);
  /** Where the caret is to be put once the text is drawn. */
  const caret = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (caret.current === undefined) return;
    field.current!.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  });

  const type = (next: string) => {
    setText(next);
    onType?.(next);
  };
  const change = (next: string, offset: number) => {
    type(next);
    if (language !== undefined) completions.suggest(language, next, offset, what);
  };
  const accept = (suggestion: Suggestion) => {
    const next = text.slice(0, suggestion.from) + suggestion.insert + text.slice(suggestion.to);
    caret.current = suggestion.from + suggestion.insert.length;
    type(next);
    completions.close();
    field.current!.focus();
  };
  const runNow = () => {
    completions.close();
    onRun(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (completions.takeKey(event, accept)) return event.preventDefault();
    if (event.key === " " && event.ctrlKey && language !== undefined) {
      completions.suggest(language, text, field.current!.selectionStart, what, { isAsked: true });
      return event.preventDefault();
    }
    // Shift-Enter begins a new line.
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    runNow();
  };
  const mistake = language === undefined || text === query ? undefined : language.findMistake(text);
  return (
    <div class="editor">
      <div class="editor-field">
        <pre class="editor-colours" aria-hidden="true">
          {language === undefined ? (
            text
          ) : (
            <Coloured text={text} pieces={language.highlightQuery(text)} mistake={mistake} />
          )}
          {"\n"}
        </pre>
        <textarea
          ref={field}
          id="query"
          class={language === undefined ? undefined : "over-colours"}
          aria-label="Query"
          aria-keyshortcuts="/"
          aria-autocomplete="list"
          aria-controls={completions.suggestions.length > 0 ? "completions" : undefined}
          aria-activedescendant={completions.activeId}
          aria-describedby={mistake === undefined ? undefined : "query-mistake"}
          placeholder={'words, -excluded, or svcQL: {service.name="/k8s/shop/cart"} |= "refused"'}
          rows={Math.min(12, text.split("\n").length)}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          value={text}
          onInput={({ currentTarget }) => change(currentTarget.value, currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onFocus={() => {
            isFocused.value = true;
          }}
          onBlur={() => {
            isFocused.value = false;
            completions.close();
          }}
        />
        {isFocused.value ? <CompletionList completions={completions} onAccept={accept} /> : null}
        {mistake === undefined || !isFocused.value || completions.suggestions.length > 0 ? null : (
          <p id="query-mistake" class="editor-mistake">
            {mistake.problem}
          </p>
        )}
      </div>
      <button type="button" class="primary" onClick={runNow}>
        Run
      </button>
    </div>
  );
}

interface ColouredProps {
  text: string;
  pieces: readonly Language.QueryPiece[];
  mistake: Language.QueryMistake | undefined;
}

/** The text in spans: one for each piece and for what is between them. */
function Coloured({ text, pieces, mistake }: ColouredProps) {
  const cuts = new Set([0, text.length, ...pieces.flatMap(({ start, end }) => [start, end])]);
  if (mistake !== undefined) for (const at of [mistake.start, mistake.end]) cuts.add(at);
  const sorted = [...cuts].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((start, i) => {
    const end = sorted[i + 1]!;
    const piece = pieces.find((each) => each.start <= start && each.end >= end);
    const isWrong = mistake !== undefined && start >= mistake.start && end <= mistake.end;
    const names = [piece === undefined ? "" : `piece-${piece.kind}`, isWrong ? "mistake" : ""];
    return (
      <span key={start} class={names.join(" ").trim() || undefined}>
        {text.slice(start, end)}
      </span>
    );
  });
}
