/** Rows of an imagined shop, for who has none yet: an hour of it, with a database that is away for five minutes. */

const hourMs = 3_600_000;
const rowCount = 3_000;

const services = ["cart", "pay", "search", "web"];
const paths = ["/item", "/cart", "/pay", "/search", "/login"];

/** The rows as JSON lines. */
export function makeSampleRows(nowMs: number): string {
  const lines = Array.from({ length: rowCount }, (_, i) => {
    const timestamp = nowMs - hourMs + Math.floor((i * hourMs) / rowCount);
    const service = services[i % services.length]!;
    const minute = Math.floor((i * 60) / rowCount);
    const isAway = service === "pay" && minute >= 35 && minute < 40;
    const attributes = {
      "service.name": `/k8s/shop/${service}`,
      "k8s.pod.name": `${service}-${i % 3}`,
      "http.status_code": isAway ? "503" : "200",
    };
    const message = isAway
      ? `connection refused by 10.0.0.${i % 5}:5432, attempt ${1 + (i % 3)}`
      : `GET ${paths[i % paths.length]}/${(i * 7919) % 1_000} took ${(i * 31) % 90} ms`;
    return JSON.stringify({ timestamp, log_level: isAway ? "error" : "info", message, attributes });
  });
  return lines.join("\n");
}
