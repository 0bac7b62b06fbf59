/** Which keys are for the page. */

/** True for a key that is pressed with Control, Meta or Alt: it belongs to the browser or the system. */
export function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

/** True for a key that neither belongs to the browser nor writes text or moves in a field. */
export function isPageKey(event: KeyboardEvent): boolean {
  const { target } = event;
  const isTyping =
    target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);
  return !isTyping && !hasModifier(event);
}
