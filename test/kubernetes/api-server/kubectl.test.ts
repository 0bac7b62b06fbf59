/** kubectl works against the double. Skipped where kubectl is not installed, or older than 1.29. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { findReasonToSkip, runKubectl } from "./kubectl.ts";
import type { KubernetesObject } from "./objects.ts";
import { makeSample, sampleDefinition, sampleVersion } from "./sample.ts";

const reason = findReasonToSkip();

describe.skipIf(reason !== undefined)(`kubectl${reason === undefined ? "" : ` (${reason})`}`, () => {
  let folder: string;
  let server: ApiServer;

  const run = (args: readonly string[], input = "") => runKubectl(folder, args, input);
  /** Runs kubectl, which must succeed, and returns what it prints. */
  const kubectl = async (args: string, input = ""): Promise<string> => {
    const { code, out, err } = await run(args.split(" "), input);
    expect(code, `kubectl ${args}: ${err}`).toBe(0);
    return out;
  };
  const yamlOf = (...objects: KubernetesObject[]) => objects.map((object) => stringify(object)).join("---\n");

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-kubectl-"));
    server = await startApiServer();
    writeFileSync(join(folder, "kubeconfig"), server.kubeconfig());
    await kubectl("apply -f -", yamlOf(sampleDefinition));
    await kubectl("wait --for=condition=Established --timeout=10s crd/samples.contract.svc.example");
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test("lists what is served", async () => {
    const out = await kubectl("api-resources --no-headers -o wide");
    expect(out).toMatch(/^samples\s+smpl\s+contract\.svc\.example\/v1alpha1\s+true\s+Sample\s+.*contract/m);
    expect(out).toMatch(/^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment/m);
  });

  test("applies on its side, with the fields checked by the server", async () => {
    expect(await kubectl("apply -f -", yamlOf(makeSample("client")))).toContain("client created");
    expect(await kubectl("apply -f -", yamlOf(makeSample("client")))).toContain("client unchanged");
    const changed = yamlOf(makeSample("client", { retries: 2, headers: { a: "b" } }));
    expect(await kubectl("apply -f -", changed)).toContain("client configured");
    const smaller = yamlOf(makeSample("client", { retries: 2 }));
    expect(await kubectl("apply -f -", smaller)).toContain("client configured");
    const { spec } = JSON.parse(await kubectl("get smpl client -o json")) as KubernetesObject;
    expect(spec).toEqual({ url: "https://a.example", method: "POST", retries: 2 });
  });

  test("is told of unknown fields and broken rules", async () => {
    const unknown = await run(["apply", "-f", "-"], yamlOf(makeSample("wrong", { colour: "red" })));
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('unknown field "spec.colour"')]);
    const broken = await run(["apply", "-f", "-"], yamlOf(makeSample("wrong", { retries: 1, least: 2 })));
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining("least is above retries")]);
  });

  test("applies on the server's side, with conflicts", async () => {
    const apply = "apply --server-side -f -";
    expect(await kubectl(apply, yamlOf(makeSample("served", { retries: 1 })))).toContain(
      "serverside-applied",
    );
    const other = ["apply", "--server-side", "--field-manager=other", "-f", "-"];
    const input = yamlOf(makeSample("served", { retries: 2 }));
    const refused = await run(other, input);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('conflict with "kubectl"')]);
    const forced = await run([...other, "--force-conflicts"], input);
    expect(forced.code, forced.err).toBe(0);
    const managed = await kubectl("get smpl served --show-managed-fields -o yaml");
    expect(managed).toContain("manager: other");
  });

  test("applies the same objects first on its side, then on the server's", async () => {
    await kubectl("apply -f -", yamlOf(makeSample("both", { retries: 1 })));
    const next = yamlOf(makeSample("both", { retries: 3 }));
    expect(await kubectl("apply --server-side -f -", next)).toContain("serverside-applied");
    const { spec } = JSON.parse(await kubectl("get smpl both -o json")) as KubernetesObject;
    expect(spec!.retries).toBe(3);
  });

  test("gets tables, wide ones, YAML, and what a category holds", async () => {
    await kubectl("apply -f -", yamlOf(makeSample("shown")));
    await kubectl(
      `patch smpl shown --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
    );
    expect(await kubectl("get smpl shown")).toMatch(/^NAME\s+READY\s+AGE\nshown\s+True\s+\d+s\n$/);
    expect(await kubectl("get smpl shown -o wide")).toContain("https://a.example");
    expect(await kubectl("get smpl shown -o yaml")).toContain(`apiVersion: ${sampleVersion}`);
    expect(await kubectl("get contract -o name")).toContain("sample.contract.svc.example/shown");
    expect(await kubectl("wait --for=condition=Ready --timeout=10s smpl/shown")).toContain("condition met");
    expect(await kubectl("describe smpl shown")).toMatch(/Kind:\s+Sample[\s\S]*URL:\s+https:\/\/a\.example/i);
  });

  test("waits for a condition that comes later", async () => {
    await kubectl("apply -f -", yamlOf(makeSample("later")));
    const waiting = kubectl("wait --for=condition=Ready --timeout=20s smpl/later");
    await expect.poll(() => server.watchCount, { timeout: 20_000 }).toBe(1);
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    const { spec: _spec, ...identity } = makeSample("later");
    server.apply({ ...server.get(identity)!, metadata: { name: "later" }, status }, "exporter");
    expect(await waiting).toContain("condition met");
  });

  test("patches, labels and deletes", async () => {
    await kubectl("apply -f -", yamlOf(makeSample("worn")));
    await kubectl(`patch smpl worn --type=merge -p {"spec":{"retries":4}}`);
    await kubectl(`patch smpl worn --type=json -p [{"op":"add","path":"/spec/tags","value":["a"]}]`);
    await kubectl("label smpl worn a=b");
    expect(await kubectl("get smpl -l a=b -o jsonpath={.items[0].spec}")).toContain('"retries":4');
    expect(await kubectl("delete smpl worn")).toContain("deleted");
    const { code, err } = await run(["get", "smpl", "worn"]);
    expect([code, err]).toEqual([1, expect.stringContaining("NotFound")]);
  });

  test("merges the lists of core kinds by their keys", async () => {
    const deployment = (image: string): KubernetesObject => ({
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "one", image, ports: [{ containerPort: 80 }] }] },
        },
      },
    });
    await kubectl("apply -f -", yamlOf(deployment("a:1")));
    await kubectl(
      `patch deploy web -p {"spec":{"template":{"spec":{"containers":[{"name":"two","image":"b:1"}]}}}}`,
    );
    await kubectl("apply -f -", yamlOf(deployment("a:2")));
    const images = "get deploy web -o jsonpath={.spec.template.spec.containers[*].image}";
    expect((await kubectl(images)).split(" ").sort()).toEqual(["a:2", "b:1"]);
    expect(await kubectl("describe deploy web")).toMatch(/Image:\s+a:2/);
    await kubectl("delete deploy web");
  });

  test("a dry run of the server and a namespace with what is in it", async () => {
    const namespace: KubernetesObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "short" } };
    const inside = makeSample("inside");
    const objects = yamlOf(namespace, { ...inside, metadata: { ...inside.metadata, namespace: "short" } });
    expect(await kubectl("apply --dry-run=server -f -", yamlOf(makeSample("dry")))).toContain(
      "(server dry run)",
    );
    expect((await run(["get", "smpl", "dry"])).code).toBe(1);
    await kubectl("apply -f -", objects);
    expect(await kubectl("delete namespace short")).toContain("deleted");
    expect(server.list(sampleVersion, "Sample", "short")).toEqual([]);
  });

  test("explains fields", async () => {
    expect(await kubectl("explain samples.spec")).toMatch(
      /What is sent where\.[\s\S]*url\s+<string> -required-/,
    );
  });

  test("renders with kustomize and applies the outcome", async () => {
    const kustomization = { namePrefix: "pre-", resources: ["sample.yaml"] };
    writeFileSync(join(folder, "sample.yaml"), yamlOf(makeSample("kept")));
    writeFileSync(join(folder, "kustomization.yaml"), stringify(kustomization));
    expect(await kubectl(`kustomize ${folder}`)).toContain("name: pre-kept");
    expect(await kubectl(`apply -k ${folder}`)).toContain("pre-kept created");
  });
});
