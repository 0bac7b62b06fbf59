/** Flags that several commands have in common. */

import { anyText, one, onOrOff } from "./flag.ts";
import { parseUrl } from "./units.ts";

export const dataFlag = {
  value: "DIR",
  help: "the data folder",
  default: "./data",
  parse: one(anyText),
} as const;

export const configFlag = {
  value: "FILE",
  help: "a YAML file with settings",
  defaultSays: "none",
  parse: one(anyText),
} as const;

export const jsonFlag = {
  value: null,
  help: "prints one JSON object a line, as the API gives it",
  default: "false",
  parse: one(onOrOff),
} as const;

/** How to reach a running server, and with which token. */
export const serverFlags = {
  url: {
    value: "URL",
    help: "the server",
    default: "http://127.0.0.1:8080",
    parse: one(parseUrl),
  },
  token: {
    value: "TOKEN",
    help: "the token to send",
    defaultSays: "the admin-token file of the data folder, for a server on this machine",
    secret: true,
    parse: one(anyText),
  },
  data: { ...dataFlag, help: "the data folder whose admin-token file is used where no token is given" },
  config: configFlag,
} as const;
