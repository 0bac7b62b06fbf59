/** The widgets of a dashboard on its grid; in the editor they are moved and resized by pointer and by keys. */

import { useRef, useState } from "preact/hooks";
import { hasModifier } from "../ui/keys.ts";
import type { GridPlace, KeptWidget } from "./answers.ts";
import { contentOf } from "./answers.ts";
import { makeChart } from "./kept-dashboards.ts";
import { fitted, gridColumns, placeAfterKey, placesOf, putWidget } from "./layout.ts";
import { Panel } from "./panel.tsx";
import type { QueryScope } from "./queries.ts";

interface GridProps {
  widgets: readonly KeptWidget[];
  scope: QueryScope;
  onBrush(startMs: number, endMs: number): void;
  onFullScreen?(index: number): void;
  /** Present in the editor. */
  editing?: GridEditing;
}

export interface GridEditing {
  onChange(widgets: KeptWidget[]): void;
  /** Opens the form of a widget; `put` is called with what becomes of it. */
  onEdit(widget: KeptWidget, put: (next: KeptWidget) => void): void;
  /** Says what was done, for those who cannot see it. */
  onTell(text: string): void;
}

/** Pixels of a row of the grid. */
const rowHeight = 30;

export function Grid({ widgets, scope, onBrush, onFullScreen, editing }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<{ index: number; place: GridPlace } | undefined>();
  const shown = dragged === undefined ? widgets : putWidget(widgets, dragged.index, dragged.place);
  const places = placesOf(shown);
  return (
    <div ref={box} class={editing === undefined ? "grid" : "grid editing"}>
      {shown.map((widget, index) => {
        const { x, y, w, h } = places[index]!;
        return (
          <div
            key={index}
            class={dragged?.index === index ? "cell dragged" : "cell"}
            style={{
              gridColumn: `${x + 1} / span ${w}`,
              gridRow: `${y + 1} / span ${h}`,
              minHeight: `${h * rowHeight}px`,
            }}
          >
            {widget.type === "group" ? (
              <Group
                widget={widget}
                scope={scope}
                onBrush={onBrush}
                {...(editing === undefined
                  ? {}
                  : {
                      editing: {
                        ...editing,
                        onChange: (inner: KeptWidget[]) =>
                          editing.onChange(widgets.toSpliced(index, 1, withInner(widget, inner))),
                      },
                    })}
              />
            ) : (
              <Panel
                widget={widget}
                scope={scope}
                onBrush={onBrush}
                {...(onFullScreen === undefined ? {} : { onFullScreen: () => onFullScreen(index) })}
              />
            )}
            {editing === undefined ? null : (
              <Tools
                widget={widget}
                place={places[index]!}
                cellWidth={() => box.current!.clientWidth / gridColumns}
                onDrag={(place) => setDragged(place === undefined ? undefined : { index, place })}
                onDrop={(place) => {
                  setDragged(undefined);
                  editing.onChange(putWidget(widgets, index, place));
                  editing.onTell(
                    `Column ${place.x + 1}, row ${place.y + 1}, ${place.w} wide, ${place.h} high`,
                  );
                }}
                onEdit={() => editing.onEdit(widget, (next) => editing.onChange(widgets.with(index, next)))}
                onRemove={() => {
                  editing.onChange(widgets.toSpliced(index, 1));
                  editing.onTell(`Removed ${contentOf(widget).title ?? ""}`);
                }}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}

function withInner(widget: KeptWidget, widgets: KeptWidget[]): KeptWidget {
  return { ...widget, group: { ...contentOf(widget), widgets } };
}

/** Adds a chart below the others and opens its form. */
export function addWidget(widgets: readonly KeptWidget[], editing: GridEditing): void {
  const widget = makeChart({ title: "", query: "count(logs)" }, widgets);
  editing.onChange([...widgets, widget]);
  editing.onEdit(widget, (next) => editing.onChange([...widgets, next]));
}

/** A group has widgets of its own on a grid of its own, and can be closed. */
function Group({ widget, scope, onBrush, editing }: Omit<GridProps, "widgets"> & { widget: KeptWidget }) {
  const { title = "Group", widgets = [] } = contentOf(widget);
  return (
    <details class="panel-group" open>
      <summary>
        <bdi>{title}</bdi>
      </summary>
      <Grid
        widgets={widgets}
        scope={scope}
        onBrush={onBrush}
        {...(editing === undefined ? {} : { editing })}
      />
      {editing === undefined ? null : (
        <button type="button" onClick={() => addWidget(widgets, editing)}>
          Add a widget to {title}
        </button>
      )}
    </details>
  );
}

interface ToolsProps {
  widget: KeptWidget;
  place: GridPlace;
  /** Pixels of a column. */
  cellWidth(): number;
  /** Where the widget would be put, while it is dragged; undefined when that is given up. */
  onDrag(place: GridPlace | undefined): void;
  onDrop(place: GridPlace): void;
  onEdit(): void;
  onRemove(): void;
}

function Tools({ widget, place, cellWidth, onDrag, onDrop, onEdit, onRemove }: ToolsProps) {
  const title = contentOf(widget).title || widget.type;
  const handle = (label: string, kind: "move" | "resize") => (
    <button
      type="button"
      class={`handle ${kind}`}
      aria-label={`${label} ${title}`}
      title={`${label}: drag, or arrow keys${kind === "move" ? "; with Shift they resize" : ""}`}
      onKeyDown={(event) => {
        if (hasModifier(event)) return;
        const next = placeAfterKey(place, event.key, kind === "resize" || event.shiftKey);
        if (next === undefined) return;
        event.preventDefault();
        onDrop(next);
      }}
      onPointerDown={(event) => followPointer(event, { place, kind, cellWidth: cellWidth(), onDrag, onDrop })}
    >
      {kind === "move" ? "✥" : "⇲"}
    </button>
  );
  return (
    <div class="tools">
      {handle("Move", "move")}
      {handle("Resize", "resize")}
      <button type="button" aria-label={`Edit ${title}`} onClick={onEdit}>
        Edit
      </button>
      <button type="button" aria-label={`Remove ${title}`} onClick={onRemove}>
        Remove
      </button>
    </div>
  );
}

interface Drag extends Pick<ToolsProps, "place" | "onDrag" | "onDrop"> {
  kind: "move" | "resize";
  cellWidth: number;
}

/** Moves or resizes with the pointer until it is let go. */
function followPointer(down: PointerEvent, { place, kind, cellWidth, onDrag, onDrop }: Drag): void {
  const target = down.currentTarget as HTMLElement;
  target.setPointerCapture(down.pointerId);
  const placeAt = (event: PointerEvent) => {
    const columns = Math.round((event.clientX - down.clientX) / cellWidth);
    const rows = Math.round((event.clientY - down.clientY) / rowHeight);
    if (kind === "resize") return fitted({ ...place, w: place.w + columns, h: place.h + rows });
    return fitted({ ...place, x: place.x + columns, y: place.y + rows });
  };
  const stopping = new AbortController();
  const { signal } = stopping;
  target.addEventListener("pointermove", (event) => onDrag(placeAt(event)), { signal });
  target.addEventListener(
    "pointerup",
    (event) => {
      stopping.abort();
      onDrop(placeAt(event));
    },
    { signal },
  );
  target.addEventListener(
    "pointercancel",
    () => {
      stopping.abort();
      onDrag(undefined);
    },
    { signal },
  );
}
