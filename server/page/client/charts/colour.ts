/** Colours of series. */

const paletteSize = 8;
/** Degrees between neighbours of a colour wheel, so that colours that follow each other differ most. */
const goldenAngle = 137.508;

/** The colour of the nth series, as a style sheet takes it. */
export function nameColour(index: number): string {
  if (index < paletteSize) return `var(--series-${index})`;
  const hue = Math.round(index * goldenAngle) % 360;
  return `light-dark(hsl(${hue} 55% 42%), hsl(${hue} 60% 66%))`;
}
