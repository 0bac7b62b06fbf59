/** Requests to a language model behind an address that speaks the chat completions of OpenAI's API. */

import * as z from "zod";
import { parseJson } from "../../text/json-text.ts";
import { readResponseText } from "../../text/response-text.ts";
import { answerBytesMax, answerTokensMax } from "./limits.ts";

export interface ModelSettings {
  /** Such as `https://models.example/v1`. */
  url: string;
  model: string;
  key?: string;
}

const toolCall = z.object({
  id: z.string().max(200),
  function: z.object({ name: z.string().max(100), arguments: z.string().max(10_000) }),
});
const chatAnswer = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), tool_calls: z.array(toolCall).nullish() }),
      }),
    )
    .min(1),
  usage: z.object({ total_tokens: z.number() }).nullish(),
});

export type ToolCall = z.infer<typeof toolCall>;

export type ChatMessage =
  | { role: "system" | "user"; content: string }
  | { role: "assistant"; content: string; tool_calls?: (ToolCall & { type: "function" })[] }
  | { role: "tool"; tool_call_id: string; content: string };

export interface ChatAnswer {
  content: string;
  calls: ToolCall[];
  /** Of the request and the answer; 0 where the server does not count them. */
  tokens: number;
}

/** Rejects with an Error that holds nothing of the key. */
export async function askModel(
  { url, model, key }: ModelSettings,
  {
    messages,
    tools,
    mayAsk,
  }: { messages: readonly ChatMessage[]; tools: readonly object[]; mayAsk: boolean },
  signal: AbortSignal,
): Promise<ChatAnswer> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/chat/completions`, {
    method: "POST",
    redirect: "error",
    headers: {
      ...{ "Content-Type": "application/json", Accept: "application/json" },
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      ...{ model, messages, temperature: 0, max_tokens: answerTokensMax },
      ...(mayAsk ? { tools, tool_choice: "auto" } : {}),
    }),
    signal,
  });
  const tooLong = "the answer of the language model's server is too long";
  const text = await readResponseText(response, answerBytesMax, tooLong);
  if (response.status !== 200) throw new Error(`the language model's server answered ${response.status}`);
  const { choices, usage } = readAnswer(text);
  const { content, tool_calls: calls } = choices[0]!.message;
  return { content: content ?? "", calls: calls ?? [], tokens: usage?.total_tokens ?? 0 };
}

function readAnswer(text: string): z.infer<typeof chatAnswer> {
  const value = parseJson(text);
  if (value === undefined) throw new Error("the language model's server answered something else than JSON");
  const { data, success } = chatAnswer.safeParse(value);
  if (!success) throw new Error("the language model's server answered something else than a chat completion");
  return data;
}
