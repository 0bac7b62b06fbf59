/** Icons of the page, drawn as strokes in a box of 24 by 24. */

const paths = {
  theme: "M12 3a9 9 0 1 0 9 9c-5 1-10-4-9-9z",
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 .01 0z",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  play: "M7 5l12 7-12 7z",
  pause: "M8 5v14M16 5v14",
  include: "M12 5v14M5 12h14",
  exclude: "M5 12h14",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  around: "M4 6h16M4 12h16M4 18h16",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
