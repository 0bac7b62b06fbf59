/** Prometheus and vmagent send by remote write what they scrape. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../../free-port.ts";
import { call, type Running, startServer } from "../../running.ts";
import { Daemons, eventually, findProgram, seriesOf } from "./daemons.ts";

const prometheus = findProgram("/usr/bin/prometheus");
const vmagent = findProgram("/usr/bin/vmagent");

let server: Running;
const daemons = new Daemons();
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await daemons.stop();
  await server.stop();
});

async function refusedRows(): Promise<string[]> {
  return (await call(server, "/metrics")).text.match(/svc_ingest_refused_rows_total\{.* [1-9].*/g) ?? [];
}

// Skipped where the package is missing: `apt-get install prometheus`.
describe.skipIf(prometheus === undefined)("Prometheus", () => {
  test("sends its own metrics", async () => {
    const port = await findFreePort();
    const config = daemons.write(
      "prometheus.yml",
      `
global: { scrape_interval: 250ms, scrape_timeout: 200ms }
scrape_configs:
  - job_name: itself
    static_configs: [{ targets: ["127.0.0.1:${port}"] }]
remote_write:
  - url: ${server.url}/api/v1/write
    authorization: { credentials: ${server.adminToken} }
    queue_config: { batch_send_deadline: 200ms }
    metadata_config: { send_interval: 500ms }
`,
    );
    daemons.start(prometheus!, [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(daemons.dir, "tsdb")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    const running = await eventually(() => seriesOf(server, 'count(go_goroutines{job="itself"})'));
    expect(running).toBeDefined();
    const appended = 'sum(prometheus_tsdb_head_samples_appended_total{job="itself"})';
    const increase = await eventually(() => seriesOf(server, appended));
    expect(increase![0]!.points[0]![1]).toBeGreaterThan(0);
    // By its name alone this would be a gauge; metadata says that it is part of a histogram or a summary.
    const count = 'sum(increase(prometheus_http_request_duration_seconds_count{job="itself"}))';
    expect(await eventually(() => seriesOf(server, count))).toBeDefined();
    expect(await refusedRows()).toEqual([]);
  });
});

/** A target whose counter grows by 3 at each scrape. */
async function startTarget(): Promise<{ target: Server; port: number; scrapes: () => number }> {
  let scrapes = 0;
  const target = createServer((_request, response) => {
    scrapes++;
    response.end(`# TYPE shop_orders_total counter
shop_orders_total{pod="cart-1",path="/a \\"b\\" \\\\ ä"} ${scrapes * 3}
# TYPE shop_queue gauge
shop_queue{pod="cart-1"} -0.25
# TYPE shop_wait_seconds histogram
shop_wait_seconds_bucket{le="0.5"} ${scrapes}
shop_wait_seconds_bucket{le="+Inf"} ${scrapes * 2}
shop_wait_seconds_sum ${scrapes * 1.5}
shop_wait_seconds_count ${scrapes * 2}
`);
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  return { target, port: (target.address() as AddressInfo).port, scrapes: () => scrapes };
}

// Skipped where the package is missing: `apt-get install victoria-metrics`.
describe.skipIf(vmagent === undefined)("vmagent", () => {
  test("sends what it scrapes, with its defaults", async () => {
    const { target, port, scrapes } = await startTarget();
    const config = daemons.write(
      "vmagent.yml",
      `
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: shop
    static_configs: [{ targets: ["127.0.0.1:${port}"] }]
`,
    );
    const agent = daemons.start(vmagent!, [
      `-promscrape.config=${config}`,
      `-remoteWrite.url=${server.url}/api/v1/write`,
      `-remoteWrite.bearerToken=${server.adminToken}`,
      `-remoteWrite.tmpDataPath=${join(daemons.dir, "vmagent")}`,
      `-httpListenAddr=127.0.0.1:${await findFreePort()}`,
    ]);
    const labels = { instance: `127.0.0.1:${port}`, job: "shop" };
    const enough = () =>
      scrapes() >= 5
        ? seriesOf(server, "avg(shop_queue) by (pod, job, instance)")
        : Promise.resolve(undefined);
    const [queue] = (await eventually(enough))!;
    expect([queue!.labels, queue!.points[0]![1]]).toEqual([{ ...labels, pod: "cart-1" }, -0.25]);
    // On its way out it sends what it has.
    const scrapesAtSignal = scrapes();
    agent.kill("SIGTERM");
    await new Promise((resolve) => agent.once("close", resolve));
    target.close();
    const [orders] = (await seriesOf(server, "sum(increase(shop_orders_total)) by (pod, path, job)"))!;
    expect(orders!.labels).toEqual({ job: "shop", pod: "cart-1", path: '/a "b" \\ ä' });
    // The first scrape has nothing before it; the one before the signal and those after it may have been cut off.
    const increase = orders!.points[0]![1];
    expect(increase % 3).toBe(0);
    expect(increase).toBeGreaterThanOrEqual((scrapesAtSignal - 2) * 3);
    expect(increase).toBeLessThanOrEqual((scrapes() - 1) * 3);
    const wait = await seriesOf(
      server,
      "histogram_quantile(0.25, sum(increase(shop_wait_seconds_bucket)) by (le))",
    );
    expect(wait![0]!.points[0]![1]).toBeCloseTo(0.25);
    expect(
      (await seriesOf(server, 'avg(up{job="shop"}) by (job, instance)'))!.map((series) => series.labels),
    ).toEqual([labels]);
    expect(await refusedRows()).toEqual([]);
  });
});
