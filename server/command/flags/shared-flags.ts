/** Flags that several commands share. */

import { parseSwitch, parseText, takeLast } from "./flag.ts";
import { parseUrl } from "./units.ts";

export const dataFlag = {
  placeholder: "DIR",
  help: "the data folder",
  default: "./data",
  parse: takeLast(parseText),
} as const;

export const configFlag = {
  placeholder: "FILE",
  help: "a YAML file with settings",
  defaultText: "none",
  parse: takeLast(parseText),
} as const;

export const jsonFlag = {
  placeholder: null,
  help: "prints one JSON object a line, as the API gives it",
  default: "false",
  parse: takeLast(parseSwitch),
} as const;

/** Flags of commands that call a running server: its address and the token. */
export const serverFlags = {
  url: {
    placeholder: "URL",
    help: "the server",
    defaultText: "the one that has the data folder open, else http://127.0.0.1:8080",
    parse: takeLast(parseUrl),
  },
  token: {
    placeholder: "TOKEN",
    help: "the token to send",
    defaultText: "the admin-token file of the data folder, for the server that has it open",
    isSecret: true,
    parse: takeLast(parseText),
  },
  data: {
    ...dataFlag,
    help: "the data folder that names the server and its admin token where they are not given",
  },
  config: configFlag,
} as const;
