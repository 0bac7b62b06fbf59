/** The frame of a widget: its title, its menu, and what went wrong. It loads when it comes into sight. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { contentOf, type KeptWidget } from "./answers.ts";
import type { QueryScope } from "./queries.ts";
import { WidgetBody } from "./widget-body.tsx";

interface PanelProps {
  widget: KeptWidget;
  scope: QueryScope;
  onBrush(startMs: number, endMs: number): void;
  onFullScreen?(): void;
  /** Handles of the editor. */
  tools?: ComponentChildren;
}

export function Panel({ widget, scope, onBrush, onFullScreen, tools }: PanelProps) {
  const content = contentOf(widget);
  const box = useRef<HTMLElement>(null);
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    const watching = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        setIsSeen(true);
        watching.disconnect();
      },
      { rootMargin: "200px" },
    );
    watching.observe(box.current!);
    return () => watching.disconnect();
  }, []);
  const title = content.title ?? "";
  return (
    <section ref={box} class="panel" aria-label={title === "" ? widget.type : title}>
      <header>
        {title === "" ? null : (
          <h2 title={content.description ?? ""}>
            <bdi>{title}</bdi>
          </h2>
        )}
        <span class="grow" />
        <PanelMenu widget={widget} scope={scope} {...(onFullScreen === undefined ? {} : { onFullScreen })} />
        {tools}
      </header>
      {isSeen ? <WidgetBody widget={widget} scope={scope} onBrush={onBrush} /> : null}
    </section>
  );
}

function PanelMenu({ widget, scope, onFullScreen }: Pick<PanelProps, "widget" | "scope" | "onFullScreen">) {
  const query = contentOf(widget).expression?.svcQLQueries?.[0]?.query;
  return (
    <>
      {query === undefined ? null : (
        <a class="panel-link" href={searchHref(query, scope)} title="Opens the query in the search">
          Explore
        </a>
      )}
      {onFullScreen === undefined ? null : (
        <button type="button" class="quiet panel-link" title="Full screen" onClick={onFullScreen}>
          Full
        </button>
      )}
    </>
  );
}

/** The search for what a panel shows, with the values of its variables put in. */
function searchHref(query: string, { startTime, endTime, variables }: QueryScope): string {
  const filled = query.replace(/\\?\$([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string) => {
    if (whole.startsWith("\\")) return whole;
    const value = variables[name];
    return value === undefined ? whole : escapeValue(value);
  });
  const place = /^\s*traces\b/.test(query) ? "/traces" : "/";
  return `${place}?${new URLSearchParams({ q: filled, from: String(startTime), to: String(endTime) })}`;
}

/** A value as it stands within quotes. */
function escapeValue(value: string): string {
  return JSON.stringify(value).slice(1, -1).replaceAll("$", "\\$");
}
