/** Flags of `svc serve` for the language model that writes about investigations. */

import { parseText, type Settings, takeLast } from "./flag.ts";
import { parseUrl, UsageError } from "./units.ts";

export const modelFlags = {
  "model-url": {
    placeholder: "URL",
    help: "a language model's server that writes about investigations, such as https://models.example/v1; it gets evidence, masked",
    defaultText: "none: nothing leaves the server",
    parse: takeLast(parseUrl),
  },
  model: {
    placeholder: "NAME",
    help: "the language model there",
    parse: takeLast(parseText),
  },
  "model-key": {
    placeholder: "KEY",
    help: "the key for that server",
    isSecret: true,
    parse: takeLast(parseText),
  },
} as const;

export function modelSettings({ "model-url": url, model, "model-key": key }: Settings<typeof modelFlags>) {
  if (url === null) {
    if (model === null && key === null) return {};
    throw new UsageError("--model and --model-key need --model-url");
  }
  if (model === null) throw new UsageError("--model-url needs --model");
  return { model: { url, model, ...(key === null ? {} : { key }) } };
}
