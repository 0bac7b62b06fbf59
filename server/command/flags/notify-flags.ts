/** Flags of `svc serve` for how notifications are sent. */

import { isIP } from "node:net";
import { parseText, type Settings, takeLast } from "./flag.ts";
import { parseUrl, UsageError } from "./units.ts";

export const notifyFlags = {
  "public-url": {
    placeholder: "URL",
    help: "where people reach the server, for links in messages",
    defaultText: "where it listens",
    parse: takeLast(parseUrl),
  },
  "notify-allow": {
    placeholder: "NETWORK",
    help: "a private network or address that messages may go to, such as 10.1.0.0/16",
    defaultText: "none: messages go to public addresses alone",
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseNetwork),
  },
  "slack-token": {
    placeholder: "TOKEN",
    help: "the bot token that messages to Slack's channels are sent with",
    defaultText: "none: only incoming webhooks, whose URL stands as the channel",
    isSecret: true,
    parse: takeLast(parseText),
  },
  smtp: {
    placeholder: "URL",
    help: "the server for e-mail: smtps://USER:PASSWORD@HOST:465, smtp://… with STARTTLS, smtp+plain://… without TLS",
    defaultText: "none: no e-mail",
    isSecret: true,
    parse: takeLast(parseSmtp),
  },
  "smtp-from": {
    placeholder: "ADDRESS",
    help: "the sender of e-mail",
    default: "svc@localhost",
    parse: takeLast(parseAddress),
  },
  "pagerduty-key": {
    placeholder: "SERVICE=KEY",
    help: "the routing key of a PagerDuty service, by its id or name",
    defaultText: "none: actions name their routing key",
    isSecret: true,
    isRepeatable: true,
    parse: (texts: readonly string[]) => texts.map(parseServiceKey),
  },
} as const;

export function notifySettings(values: Settings<typeof notifyFlags>) {
  const { smtp, "public-url": publicUrl, "slack-token": slackToken } = values;
  return {
    allowedNetworks: values["notify-allow"] ?? [],
    pagerDutyKeys: Object.fromEntries(values["pagerduty-key"] ?? []),
    ...(publicUrl === null ? {} : { publicUrl }),
    ...(slackToken === null ? {} : { slackToken }),
    ...(smtp === null ? {} : { email: { ...smtp, from: values["smtp-from"] } }),
  };
}

const securities = {
  "smtps:": { security: "tls", port: 465 },
  "smtp:": { security: "starttls", port: 587 },
  "smtp+plain:": { security: "none", port: 25 },
} as const;

function parseSmtp(text: string) {
  const url = URL.parse(text.trim());
  const scheme = Object.entries(securities).find(([protocol]) => protocol === url?.protocol)?.[1];
  if (url === null || scheme === undefined || url.hostname === "") {
    throw new UsageError("an address such as smtps://user:password@mail.example:465");
  }
  const login = { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? scheme.port : Number(url.port),
    security: scheme.security,
    ...(login.user === "" ? {} : login),
  };
}

function parseAddress(text: string): string {
  if (!/^(?:[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/.test(text.trim()))
    throw new UsageError("an e-mail address such as alerts@shop.example");
  return text.trim();
}

function parseNetwork(text: string): string {
  const [address = "", bits, ...more] = text.trim().split("/");
  const family = isIP(address);
  const isPrefix =
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
  if (family === 0 || !isPrefix || more.length > 0)
    throw new UsageError("a network such as 10.1.0.0/16, or an address");
  return text.trim();
}

function parseServiceKey(text: string): [service: string, key: string] {
  const at = text.lastIndexOf("=");
  if (at < 1 || at === text.length - 1) throw new UsageError("SERVICE=KEY");
  return [text.slice(0, at), text.slice(at + 1)];
}
