/** Colours of the style sheet for drawings. */

/**
 * Resolves a colour of a style sheet, or the name of a custom property, to a colour that a canvas takes, as the present
 * theme has it.
 */
export function makePalette(element: HTMLElement): (colour: string) => string {
  const known = new Map<string, string>();
  return (colour) => {
    const before = known.get(colour);
    if (before !== undefined) return before;
    element.style.color = colour.startsWith("--") ? `var(${colour})` : colour;
    const { color } = getComputedStyle(element);
    element.style.color = "";
    known.set(colour, color);
    return color;
  };
}
