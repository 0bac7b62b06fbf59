/** Where widgets stand on the grid, and how they are moved and resized there. */

import type { GridPlace, KeptWidget } from "./answers.ts";

export const gridColumns = 24;
const placeDefault = { w: 12, h: 8 };

/** The place of each widget. Those without one follow in rows below all others. */
export function placesOf(widgets: readonly KeptWidget[]): GridPlace[] {
  const bottom = widgets.reduce((lowest, { position }) => {
    const at = position?.absolute;
    return at === undefined ? lowest : Math.max(lowest, at.y + at.h);
  }, 0);
  let next = 0;
  return widgets.map(({ position }) => {
    const at = position?.absolute;
    if (at !== undefined) return fitted(at);
    const column = next % (gridColumns / placeDefault.w);
    const row = Math.floor(next++ / (gridColumns / placeDefault.w));
    return { x: column * placeDefault.w, y: bottom + row * placeDefault.h, ...placeDefault };
  });
}

/** A place within the columns of the grid. */
export function fitted({ x, y, w, h }: GridPlace): GridPlace {
  const width = Math.min(gridColumns, Math.max(1, Math.round(w)));
  return {
    x: Math.min(gridColumns - width, Math.max(0, Math.round(x))),
    y: Math.max(0, Math.round(y)),
    w: width,
    h: Math.max(1, Math.round(h)),
  };
}

/** Below all that is there. */
export function freePlace(widgets: readonly KeptWidget[]): GridPlace {
  const bottom = placesOf(widgets).reduce((lowest, { y, h }) => Math.max(lowest, y + h), 0);
  return { x: 0, y: bottom, ...placeDefault };
}

/**
 * Puts one widget at a place. Others that it would cover move down, and so on; nothing else moves. Each widget gets a
 * place of its own, and keeps all its other members.
 */
export function putWidget(widgets: readonly KeptWidget[], index: number, place: GridPlace): KeptWidget[] {
  const places = placesOf(widgets);
  places[index] = fitted(place);
  const settled = [index];
  const others = places.map((_, i) => i).filter((i) => i !== index);
  for (const i of others.sort((a, b) => places[a]!.y - places[b]!.y || places[a]!.x - places[b]!.x)) {
    places[i] = freeBelow(
      places[i]!,
      settled.map((each) => places[each]!),
    );
    settled.push(i);
  }
  return widgets.map((widget, i) => ({
    ...widget,
    position: { ...widget.position, absolute: { ...widget.position?.absolute, ...places[i]! } },
  }));
}

/** The first place from `wanted` downwards that covers none of the others. */
function freeBelow(wanted: GridPlace, others: readonly GridPlace[]): GridPlace {
  const covered = others.find((other) => overlap(other, wanted));
  return covered === undefined ? wanted : freeBelow({ ...wanted, y: covered.y + covered.h }, others);
}

function overlap(a: GridPlace, b: GridPlace): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** Moves (or resizes) a place by a key; undefined for keys that do neither. */
export function placeAfterKey(place: GridPlace, key: string, isResizing: boolean): GridPlace | undefined {
  const { x, y, w, h } = place;
  const step: Readonly<Record<string, [number, number]>> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  const by = step[key];
  if (by === undefined) return undefined;
  if (!isResizing) return fitted({ ...place, x: x + by[0], y: y + by[1] });
  return fitted({ ...place, w: Math.min(gridColumns - x, w + by[0]), h: h + by[1] });
}
