/** ripgrep over the bare messages. It stores nothing, so it is no peer but shows what a plain text search costs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type BenchQuestion, lineKinds, type QuestionKind } from "../datasets/question.ts";
import { toCountAnswer } from "./answer.ts";
import { findRipgrep } from "./peer-packages.ts";
import type { StoreTarget, System, SystemLoad } from "./system.ts";

export async function listKinds(): Promise<readonly QuestionKind[]> {
  return lineKinds;
}

export async function load({ dataset }: StoreTarget): Promise<SystemLoad> {
  const { blocks } = await stat(dataset.textFile);
  return { loadSeconds: 0, settleSeconds: 0, diskBytes: blocks * 512, indexBytes: 0, memoryBytesPeak: 0 };
}

export async function open({ dataset, threads }: StoreTarget): Promise<System> {
  const path = await findRipgrep();
  return {
    async ask(question) {
      const count = await countLines(
        path,
        [...makeFlags(question), `--threads=${threads}`],
        question.text,
        dataset.textFile,
      );
      return { answer: () => toCountAnswer(count) };
    },
    close: () => Promise.resolve(),
  };
}

function makeFlags({ kind }: BenchQuestion): string[] {
  // Some messages hold bytes that ripgrep would take for a binary file.
  const flags = ["--no-config", "--text", "--count", "--no-messages"];
  if (kind === "ignoreCase") return [...flags, "--fixed-strings", "--ignore-case", "--no-unicode"];
  return kind === "regex" || kind === "variableRegex" ? flags : [...flags, "--fixed-strings"];
}

async function countLines(path: string, flags: string[], needle: string, file: string): Promise<number> {
  const child = spawn(path, [...flags, "--", needle, file], { stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  // Code 1 means that no line matches.
  if (code !== 0 && code !== 1) throw new Error(`ripgrep ended with code ${code}`);
  return Number(output.trim() || "0");
}
