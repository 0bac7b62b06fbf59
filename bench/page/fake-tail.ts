/** Stands in for the tail of a server: an hour of rows in a minute, made in the page. */

/** Runs in the page before its own scripts: `pushRows(n)` makes `n` rows arrive. */
export const fakeTail = `
  let source;
  let sent = 0;
  class FakeEventSource extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    constructor() {
      super();
      source = this;
      setTimeout(() => this.dispatchEvent(new MessageEvent("ready", { data: "{}" })));
    }
    close() {}
  }
  globalThis.EventSource = FakeEventSource;
  globalThis.pushRows = (count) => {
    for (let i = 0; i < count; i++) {
      const number = sent++;
      const row = {
        timestamp: Date.now(),
        log_level: number % 50 === 0 ? "error" : "info",
        message: "GET /api/v1/orders/" + number + " answered 200 in " + (number % 977) + " ms " + "x".repeat(number % 120),
        attributes: {
          "service.name": "/k8s/shop/service-" + (number % 40),
          "k8s.pod.name": "service-" + (number % 40) + "-6f6cfc45b-" + (number % 400),
          trace_id: number.toString(16).padStart(32, "0"),
        },
      };
      source.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(row) }));
    }
    return sent;
  };
`;
