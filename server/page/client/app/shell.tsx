/** The frame of the page: the places that it has, and the one that is shown. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isChunkMissing, loadChunk } from "../api/chunk.ts";
import { needsSignIn } from "../api/client.ts";
import { loadSession, personCount, session } from "../api/session.ts";
import { followLinks, path } from "../browser/address.ts";
import { theme } from "../browser/theme.ts";
import { useDocumentTitle } from "../browser/title.ts";
import { hasUnsavedChanges } from "../browser/unsaved.ts";
import { zone } from "../time/zone.ts";
import { Icon } from "../ui/icon.tsx";
import { ChunkNotice } from "./chunk-notice.tsx";
import { leave } from "./leave.ts";
import { hasScreen, nameOf, places, screenOf } from "./places.ts";
import { Shortcuts } from "./shortcuts.tsx";

followLinks(hasScreen);

export function Shell() {
  useDocumentTitle(nameOf(needsSignIn.value ? "/signin" : path.value));
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          svc
        </a>
        <nav aria-label="Places">
          {places.map(({ href, name, own }) => (
            <a key={href} href={href} aria-current={own.test(path.value) ? "page" : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <button
          type="button"
          class="quiet"
          title="The time zone of all times"
          onClick={() => {
            zone.value = zone.value === "UTC" ? "local" : "UTC";
          }}
        >
          {zone.value === "UTC" ? "UTC" : "Local time"}
        </button>
        <Person />
        <button
          type="button"
          class="quiet"
          aria-label={`Theme: ${theme.value}`}
          title={`Theme: ${theme.value}`}
          onClick={nextTheme}
        >
          <Icon name="theme" />
        </button>
      </header>
      <Shortcuts />
      <main id="content" tabIndex={-1}>
        <ChunkNotice />
        <Content />
      </main>
    </>
  );
}

/** Who is signed in, and the way out; or the way in. */
function Person() {
  useEffect(() => void loadSession().catch(() => undefined), []);
  const who = session.value;
  if (who === undefined || !who.features.signIn) return null;
  if (!who.signedIn)
    return (
      <a class="button quiet" href={`/signin?return=${encodeURIComponent(path.value)}`}>
        Sign in
      </a>
    );
  return (
    <>
      <span class="person" title={`Role: ${who.role}`}>
        <bdi>{who.name}</bdi>
      </span>
      <button type="button" class="quiet" onClick={() => void leave()}>
        Sign out
      </button>
    </>
  );
}

function nextTheme(): void {
  const order = ["system", "dark", "light"];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!;
}

/** The screen of the present path. Edits that are not saved stay, out of sight, until the same person has signed in again. */
function Content() {
  const isSigningIn = needsSignIn.value;
  const isKept = !isSigningIn || hasUnsavedChanges();
  return (
    <>
      {isSigningIn ? <Screen key="sign-in" at="/signin" /> : null}
      {isKept ? (
        <div key={`person ${personCount.value}`} class="present-screen" hidden={isSigningIn}>
          <Screen at={path.value} />
        </div>
      ) : null}
    </>
  );
}

/** A screen, loaded when it is first shown. */
function Screen({ at }: { at: string }) {
  const load = screenOf(at);
  const [shown, setShown] = useState<{ load: typeof load; Component: ComponentType } | undefined>();
  useEffect(() => {
    let isLast = true;
    if (load !== undefined)
      void loadChunk(load).then(
        (Component) => isLast && setShown({ load, Component }),
        // The notice tells it.
        () => undefined,
      );
    return () => {
      isLast = false;
    };
  }, [load]);
  if (load === undefined)
    return (
      <p class="empty">
        There is nothing at this address. <a href="/">Search</a>
      </p>
    );
  if (shown === undefined || shown.load !== load)
    return isChunkMissing.value ? null : (
      <p class="empty" role="status">
        Loading…
      </p>
    );
  const { Component } = shown;
  return <Component />;
}
