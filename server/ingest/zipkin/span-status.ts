/** The status of a span in the formats whose spans have tags alone. */

const statusTag = "otel.status_code";
const errorTag = "error";
const messageTags = ["otel.status_description", errorTag] as const;

/** A tag `error` says that the span failed, whatever its text. */
export function statusOfTags(tags: Readonly<Record<string, string>>): {
  status_code: "ok" | "error" | null;
  status_message: string | null;
} {
  const named = tags[statusTag]?.toLowerCase();
  const failed = tags[errorTag] !== undefined && tags[errorTag] !== "false";
  const isError = named === undefined ? failed : named === "error";
  if (!isError) return { status_code: named === "ok" ? "ok" : null, status_message: null };
  const texts = messageTags.map((tag) => tags[tag] ?? "");
  const message = texts.find((text) => text !== "" && text !== "true");
  return { status_code: "error", status_message: message ?? null };
}
