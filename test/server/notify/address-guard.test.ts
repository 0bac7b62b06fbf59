import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AddressGuard, RefusedAddress } from "../../../server/notify/senders/address-guard.ts";
import { sendHttp } from "../../../server/notify/senders/http-request.ts";

let server: Server;
let port = 0;
let requests = 0;

beforeAll(async () => {
  server = createServer((_, response) => {
    requests++;
    response.writeHead(302, { Location: "http://127.0.0.1/secret" }).end();
  });
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

/** What names resolve to here, one answer after the other. */
const names: Record<string, string[][]> = {
  "private.example": [["10.1.2.3"]],
  "loopback.example": [["127.0.0.1"]],
  "mixed.example": [["93.184.216.34", "192.168.1.1"]],
  "metadata.example": [["169.254.169.254"]],
  "six.example": [["::1"]],
  "local6.example": [["fd00::1"]],
  "mapped.example": [["::ffff:127.0.0.1"]],
  "public.example": [["93.184.216.34"]],
};

function guardOf(allowed: string[] = []): AddressGuard {
  const asked = new Map<string, number>();
  return new AddressGuard(allowed, (name, answer) => {
    const times = asked.get(name) ?? 0;
    asked.set(name, times + 1);
    const answers = name.endsWith("localhost") ? [["127.0.0.1", "::1"]] : names[name];
    if (answers === undefined)
      return answer(Object.assign(new Error(`${name} is not known`), { code: "ENOTFOUND" }), []);
    const addresses = answers[Math.min(times, answers.length - 1)]!;
    answer(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  });
}

function send(url: string, guard: AddressGuard) {
  return sendHttp({ method: "POST", url: new URL(url), headers: {}, body: "{}" }, guard, 2_000);
}

const hostile = [
  "http://127.0.0.1/",
  "http://127.0.0.1:PORT/",
  "http://127.1/",
  "http://127.255.255.254/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0x7f.0.0.1/",
  "http://017700000001/",
  "http://0177.0.0.1/",
  "http://127.0.0.1./",
  "http://%31%32%37.0.0.1/",
  "http://①②⑦.0.0.1/",
  "http://127。0。0。1/",
  "http://0/",
  "http://0.0.0.0:PORT/",
  "http://localhost:PORT/",
  "http://LOCALHOST/",
  "http://sub.localhost/",
  "http://[::1]/",
  "http://[::1]:PORT/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://[::ffff:7f00:1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[64:ff9b:1::1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:0:7f00:1::]/",
  "http://[fc00::1]/",
  "http://[fd12:3456::1]/",
  "http://[fe80::1]/",
  "http://[fec0::1]/",
  "http://[ff02::1]/",
  "http://[100::1]/",
  "http://[2001:db8::1]/",
  "http://10.0.0.1/",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://192.168.0.1/",
  "http://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://2852039166/",
  "http://192.0.0.192/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://user:secret@127.0.0.1/",
  "http://public.example@127.0.0.1/",
  "http://private.example/",
  "http://loopback.example:PORT/",
  "http://mixed.example/",
  "http://metadata.example/",
  "http://six.example/",
  "http://local6.example/",
  "http://mapped.example:PORT/",
  "https://loopback.example:PORT/",
];

describe("addresses", () => {
  test("the table is long enough", () => expect(hostile.length).toBeGreaterThanOrEqual(40));

  test.each(hostile)("%s is refused before anything is sent", async (url) => {
    const before = requests;
    await expect(send(url.replace("PORT", String(port)), guardOf())).rejects.toBeInstanceOf(RefusedAddress);
    expect(requests).toBe(before);
  });

  test.each(["ftp://public.example/", "file:///etc/passwd", "gopher://public.example/"])(
    "%s is no address for messages",
    async (url) => {
      await expect(send(url, guardOf())).rejects.toThrow("neither http nor https");
    },
  );

  test("a name that changes its address between two look-ups is judged by what is connected to", async () => {
    names["rebind.example"] = [["93.184.216.34"], ["127.0.0.1"]];
    const guard = guardOf();
    const looked = await new Promise((resolve) =>
      guard.lookup("rebind.example", { all: true }, (error, addresses) => resolve(error ?? addresses)),
    );
    expect(looked).toEqual([{ address: "93.184.216.34", family: 4 }]);
    await expect(send(`http://rebind.example:${port}/`, guard)).rejects.toBeInstanceOf(RefusedAddress);
    expect(requests).toBe(0);
  });

  test("what was checked is what is connected to: a name is asked for once, however often its answer changes", async () => {
    const connected: string[] = [];
    const onConnection = (socket: Socket) => connected.push(socket.localAddress!);
    server.on("connection", onConnection);
    // Only 127.0.0.2 is allowed; the name turns to another address as soon as it was asked, and the server listens on both.
    names["turning.example"] = [["127.0.0.2"], ["127.0.0.1"]];
    expect(await send(`http://turning.example:${port}/`, guardOf(["127.0.0.2"]))).toMatchObject({
      status: 302,
    });
    names["turned.example"] = [["127.0.0.1"], ["127.0.0.2"]];
    const refused = send(`http://turned.example:${port}/`, guardOf(["127.0.0.2"]));
    await expect(refused).rejects.toBeInstanceOf(RefusedAddress);
    // One bad address among good ones: whichever would be tried first.
    names["both.example"] = [["127.0.0.2", "127.0.0.1"]];
    const both = send(`http://both.example:${port}/`, guardOf(["127.0.0.2"]));
    await expect(both).rejects.toBeInstanceOf(RefusedAddress);
    server.off("connection", onConnection);
    expect(connected).toEqual(["127.0.0.2"]);
  });

  test("public addresses are let through", () => {
    const guard = guardOf();
    for (const address of ["93.184.216.34", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]) {
      expect(guard.allows(address), address).toBe(true);
    }
  });

  test("what the configuration allows is sent to, and redirects are not followed", async () => {
    requests = 0;
    const guard = guardOf(["127.0.0.0/8", "::1"]);
    expect(await send(`http://127.0.0.1:${port}/`, guard)).toMatchObject({ status: 302 });
    expect(await send(`http://loopback.example:${port}/`, guard)).toMatchObject({ status: 302 });
    expect(requests).toBe(2);
    await expect(send("http://10.0.0.1/", guard)).rejects.toBeInstanceOf(RefusedAddress);
    expect(() => guardOf(["10.0.0.0/33"])).toThrow('"10.0.0.0/33" is no network such as 10.1.0.0/16');
  });
});
