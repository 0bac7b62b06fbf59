/** Markdown as elements: headings, lists, code, emphasis and links. HTML in it is text. */

import type { ComponentChildren } from "preact";

interface Block {
  kind: "heading" | "list" | "numbers" | "code" | "text";
  level: number;
  lines: string[];
}

/** Characters that are drawn. */
const lengthMax = 50_000;

export function Markdown({ text }: { text: string }) {
  return <div class="markdown">{blocksOf(text.slice(0, lengthMax)).map(drawBlock)}</div>;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isCode = false;
  for (const line of text.split("\n")) {
    if (/^\s*```/.test(line)) {
      if (!isCode) blocks.push({ kind: "code", level: 0, lines: [] });
      isCode = !isCode;
      continue;
    }
    if (isCode) {
      blocks.at(-1)!.lines.push(line);
      continue;
    }
    const next = blockOf(line);
    const last = blocks.at(-1);
    const goesOn =
      last !== undefined && last.kind === next.kind && next.kind !== "heading" && last.lines.at(-1) !== "";
    if (goesOn) last.lines.push(...next.lines);
    else blocks.push(next);
  }
  return blocks.filter(({ lines }) => lines.some((line) => line !== ""));
}

function blockOf(line: string): Block {
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading !== null) return { kind: "heading", level: heading[1]!.length, lines: [heading[2]!] };
  const item = /^\s*(?:([-*+])|\d+[.)])\s+(.*)$/.exec(line);
  if (item !== null) return { kind: item[1] === undefined ? "numbers" : "list", level: 0, lines: [item[2]!] };
  return { kind: "text", level: 0, lines: [line.trim()] };
}

function drawBlock({ kind, level, lines }: Block, index: number) {
  switch (kind) {
    case "heading": {
      // The page's own headings are above those of a text.
      const Heading = `h${Math.min(6, level + 2)}` as "h3";
      return <Heading key={index}>{drawInline(lines[0]!)}</Heading>;
    }
    case "code":
      return <pre key={index}>{lines.join("\n")}</pre>;
    case "list":
    case "numbers": {
      const List = kind === "list" ? "ul" : "ol";
      return (
        <List key={index} class="markdown-list">
          {lines.map((line, i) => (
            <li key={i}>{drawInline(line)}</li>
          ))}
        </List>
      );
    }
    case "text":
      return <p key={index}>{drawInline(lines.join(" "))}</p>;
  }
}

const inline =
  /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|_([^_\s][^_]*)_|\[([^\]]{1,500})\]\(([^)\s]{1,2000})\)/g;

function drawInline(text: string): ComponentChildren[] {
  const drawn: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(inline)) {
    drawn.push(text.slice(from, match.index), drawMatch(match));
    from = match.index + match[0].length;
  }
  drawn.push(text.slice(from));
  return drawn;
}

function drawMatch([whole, code, strong, star, line, label, address]: RegExpMatchArray): ComponentChildren {
  if (code !== undefined) return <code>{code}</code>;
  if (strong !== undefined) return <strong>{strong}</strong>;
  const emphasis = star ?? line;
  if (emphasis !== undefined) return <em>{emphasis}</em>;
  const href = safeAddress(address!);
  // A link to anything else is shown as it was written.
  if (href === undefined) return whole;
  return (
    <a href={href} rel="noopener noreferrer" {...(href.startsWith("/") ? {} : { target: "_blank" })}>
      {label}
    </a>
  );
}

/** An address of this page, or one of http; undefined for every other. */
function safeAddress(address: string): string | undefined {
  if (/^\/(?![/\\])/.test(address)) return address;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
}
