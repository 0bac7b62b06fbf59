/** `node gateway-process.ts DIR HUB`: a gateway in a process of its own, to be killed. Prints where it listens. */

import { Metrics } from "../../../server/index.ts";
import { Gateway } from "../../../server/kubernetes/gateway/gateway.ts";
import { OtlpListener } from "../../../server/kubernetes/gateway/otlp-listener.ts";

const [dir, hub] = process.argv.slice(2) as [string, string];
const gateway = await Gateway.open({
  dir,
  hub: { url: new URL(hub), token: () => "secret" },
  cluster: "main",
  pods: { byUid: () => undefined, byIp: () => undefined },
  metrics: new Metrics(),
  log: () => undefined,
  directMs: 50,
  retryMs: { first: 1, max: 5 },
});
gateway.setRules([]);
gateway.run();
const port = await new OtlpListener(gateway).listen(0, "127.0.0.1");
console.log(`http://127.0.0.1:${port}`);
