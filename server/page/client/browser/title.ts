/** The title of the document: what is shown, and where in the page that is. */

import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The name of the present screen. */
const screenName = signal("");

/** What the screen shows, such as one alert by its name; "" where its own name says it. */
const subject = signal("");

const lengthMax = 100;

effect(() => {
  const names = [subject.value.slice(0, lengthMax), screenName.value, "svc"];
  document.title = names.filter((name) => name !== "").join(" – ");
});

/** Names the screen in the title. */
export function useDocumentTitle(name: string): void {
  useEffect(() => {
    screenName.value = name;
  }, [name]);
}

/** Names what a screen shows in the title, as long as it is shown; undefined while that is not known. */
export function useSubject(name: string | undefined): void {
  useEffect(() => {
    subject.value = name ?? "";
    return () => {
      subject.value = "";
    };
  }, [name]);
}
