/** The rows that the protocols of `protocols.ts` send. */

export const rowsPerBody = 1_000;
/** Time of the first row; each row is a millisecond later. */
export const startMs = Date.now() - 3_600_000;

const texts = [
  (n: number) => `GET /api/v1/products/${n % 9973} HTTP/1.1 200 ${n % 900} ms upstream 10.2.3.${n % 250}`,
  (n: number) => `order ${n} placed by user ${n % 7919} in ${n % 400} ms`,
  (n: number) => `connection to payment-${n % 12} refused after ${n % 5} retries`,
  (n: number) => `cache miss for key session:${n % 100_003} ttl=${n % 3600}`,
];
const severities = ["INFO", "WARN", "ERROR", "DEBUG"];

export const resource: Record<string, string> = {
  "service.name": "/k8s/shop/catalogue",
  "k8s.namespace.name": "shop",
  "k8s.deployment.name": "catalogue",
  "k8s.pod.name": "catalogue-7d9f-abcde",
  "k8s.node.name": "node-3",
  "k8s.container.name": "app",
  "host.name": "node-3",
  "telemetry.sdk.language": "nodejs",
};

function makeRow(n: number) {
  const id = Buffer.alloc(16, 1);
  id.writeUInt32BE(Math.imul(n, 2_654_435_761) >>> 0, 0);
  id.writeUInt32BE(n, 8);
  return {
    nanos: `${startMs + n}000000`,
    ms: startMs + n,
    severity: severities[n % 4]!,
    message: texts[n % 4]!(n),
    traceId: id,
    spanId: id.subarray(4, 12),
    attributes: {
      "http.request.method": "GET",
      "http.route": "/api/v1/products/{id}",
      "http.response.status_code": String(200 + (n % 3) * 100),
      "client.address": `10.2.${n % 16}.${n % 200}`,
      "thread.name": `worker-${n % 8}`,
      "code.namespace": "shop.catalogue.Service",
    } as Record<string, string>,
  };
}

export type Row = ReturnType<typeof makeRow>;

export function makeRows(body: number): Row[] {
  return Array.from({ length: rowsPerBody }, (_, i) => makeRow(body * rowsPerBody + i));
}
