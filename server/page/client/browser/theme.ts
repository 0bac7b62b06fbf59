/** The theme: that of the system, dark or light. */

import { computed, signal } from "@preact/signals";
import { preference } from "./preferences.ts";

export const theme = preference("theme", "system");

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => {
  isSystemDark.value = system.matches;
});

/** What is shown: "dark" or "light". */
export const shade = computed(() =>
  theme.value === "system" ? (isSystemDark.value ? "dark" : "light") : theme.value,
);

theme.subscribe((next) => {
  document.documentElement.style.colorScheme = next === "system" ? "light dark" : next;
});
