/** Signing in at an identity provider that others made, in a browser: there, back, refused, and out again. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import {
  type CertifiedIssuer,
  clientId,
  clientSecret,
  startCertifiedIssuer,
} from "../server/sign-in/certified-issuer.ts";
import { noBrowser, PageTest } from "./browser.ts";

describe.skipIf(noBrowser !== undefined)("an identity provider", () => {
  let site: PageTest;
  let issuer: CertifiedIssuer;
  beforeAll(async () => {
    issuer = await startCertifiedIssuer(true);
    site = await PageTest.start({
      anonymousRead: false,
      identity: { issuer: issuer.url, audiences: [clientId], groupsClaim: "groups" },
      oidcClient: { id: clientId, scopes: "openid profile email groups", secret: clientSecret },
    });
    site.allowedOrigins.add(issuer.url);
    await issuer.serve(site.server.url);
    issuer.people = {
      ann: { email: "ann@example.com", groups: ["idp-edit"] },
      bob: { email: "bob@example.com", groups: ["elsewhere"] },
    };
    const group = { name: "editors", role: "editor", oidcMappings: ["idp-edit"] };
    expect((await ask(site.server, "POST", "/groups", { group })).status).toBe(200);
  });
  afterAll(async () => {
    await site.stop();
    await issuer.stop();
  });

  const way = "Sign in with your identity provider";

  test("signs a person in, to the address that was asked for, and out", async () => {
    issuer.person = "ann";
    const page = await site.open("/signin?return=%2F%3Fq%3Drefused%26from%3D-15m");
    await page.getByRole("link", { name: way }).click();
    await page.getByTitle("Role: editor").waitFor();
    const { pathname, search } = new URL(page.url());
    expect(pathname + search).toBe("/?q=refused&from=-15m");
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    // The provider may ask whether to end its own session as well.
    await page.waitForURL((url) => url.origin === issuer.url || url.pathname === "/signin");
    await page.goto(`${site.server.url}/signin`);
    await page.getByRole("link", { name: way }).waitFor();
  });

  test.each([
    ["bob", "You are in none of the groups that may use this server."],
    [null, "The identity provider has refused the login."],
  ])("%s is told why it did not work", async (person, sentence) => {
    issuer.person = person;
    const page = await site.open("/signin");
    await page.getByRole("link", { name: way }).click();
    await page.getByRole("alert").getByText(sentence).waitFor();
    await page.getByLabel("Token").waitFor();
  });
});
