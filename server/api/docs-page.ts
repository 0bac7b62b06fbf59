/** The API's document as an HTML page: no script, no style but its own, nothing from elsewhere. */

import { createHash } from "node:crypto";
import type { OpenApi, Operation } from "./openapi.ts";

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024; background: #fff; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #d9d9e0; text-transform: capitalize; }
details { margin: .5rem 0; border: 1px solid #d9d9e0; border-radius: 6px; padding: .5rem .75rem; }
summary { cursor: pointer; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { overflow: auto; background: #f6f7f9; padding: .75rem; border-radius: 6px; }
b { display: inline-block; min-width: 4.5rem; }
nav a { margin-right: 1rem; }
@media (prefers-color-scheme: dark) {
  body { color: #edeef0; background: #16181c; } pre { background: #212429; } details, h2 { border-color: #3a3f45; } a { color: #8ab4ff; }
}`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** Headers of the page. Browsers may apply its own style and load nothing else. */
export const docsHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`,
} as const;

export function docsPage({ info, paths, components }: OpenApi): string {
  const byTag = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags[0]!;
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationText(method, path, operation)]);
    }
  }
  byTag.set("schemas", Object.entries(components.schemas).map(schemaText));
  const links = [...byTag.keys()].map((tag) => `<a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a>`);
  const sections = [...byTag].map(([tag, texts]) => {
    return `<section id="${escapeHtml(tag)}"><h2>${escapeHtml(tag)}</h2>${texts.join("\n")}</section>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)} API</title>
<style>${style}</style></head><body>
<h1>${escapeHtml(info.title)} API</h1>
<p>${escapeHtml(info.description)} The same for programs: <a href="/openapi.json">/openapi.json</a>.</p>
<nav>${links.join(" ")}</nav>
${sections.join("\n")}
</body></html>
`;
}

function operationText(method: string, path: string, operation: Operation): string {
  const { summary, security, parameters, requestBody, responses } = operation;
  const isOpen = security.length === 0 || security.some((one) => Object.keys(one).length === 0);
  const parts = [
    `<p>${isOpen ? "A token may be needed or not." : "Needs a token."}</p>`,
    parameters === undefined ? "" : `<h4>Parameters</h4>${jsonText(parameters)}`,
    requestBody === undefined ? "" : `<h4>Body</h4>${jsonText(requestBody.content)}`,
    `<h4>Answers</h4><ul>${Object.entries(responses).map(responseText).join("")}</ul>`,
  ];
  const head = `<b>${escapeHtml(method.toUpperCase())}</b><code>${escapeHtml(path)}</code> ${escapeHtml(summary)}`;
  return `<details><summary>${head}</summary>${parts.join("")}</details>`;
}

function responseText([status, { description, content }]: [string, Record<string, unknown>]): string {
  const shape = status === "200" ? jsonText(content) : "";
  return `<li><code>${escapeHtml(status)}</code> ${escapeHtml(String(description))}${shape}</li>`;
}

function schemaText([name, schema]: [string, unknown]): string {
  return `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${jsonText(schema)}</details>`;
}

function jsonText(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character]!);
}
