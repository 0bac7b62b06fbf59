/**
 * Lines that loggers wrote, with their times set to one moment. Lines of npm packages were recorded by running them (pino
 * 10.4, bunyan 2.0, winston 3.19); the others are in the form of each logger's documentation.
 */

export interface LoggerSample {
  /** What `svc ingest` calls the form. */
  form: string;
  line: string;
  level: string;
  /** The severity range that the level belongs to; "" for none. */
  range: string;
  message: string;
  /** Everything else, as attributes. */
  attributes: Record<string, string>;
  /** Nanoseconds since the epoch, where the line is finer than `sampleMs`; null for a line without a time. */
  timeNs?: bigint | null;
}

export const sampleMs = 1_769_676_121_007;
const iso = "2026-01-29T08:42:01.007Z";

export const loggerSamples: readonly LoggerSample[] = [
  {
    form: "pino",
    line: `{"level":40,"time":${sampleMs},"pid":772,"hostname":"vm","user":{"id":7},"msg":"paid 5"}`,
    level: "40",
    range: "warn",
    message: "paid 5",
    attributes: { level: "40", pid: "772", hostname: "vm", "user.id": "7" },
  },
  {
    // With isoTime, a messageKey and a formatter of levels.
    form: "zerolog",
    line: `{"level":"info","time":"${iso}","pid":772,"hostname":"vm","message":"iso"}`,
    level: "info",
    range: "info",
    message: "iso",
    attributes: { level: "info", pid: "772", hostname: "vm" },
  },
  {
    // With unixTime.
    form: "pino",
    line: '{"level":10,"time":1769676121,"msg":"unix"}',
    level: "10",
    range: "trace",
    message: "unix",
    attributes: { level: "10" },
    timeNs: 1_769_676_121_000_000_000n,
  },
  {
    form: "JSON lines",
    line: '{"level":60,"msg":"no time"}',
    level: "60",
    range: "fatal",
    message: "no time",
    attributes: { level: "60" },
    timeNs: null,
  },
  {
    form: "bunyan",
    line: `{"name":"shop","hostname":"vm","pid":772,"level":40,"order":4711,"msg":"slow query","time":"${iso}","v":0}`,
    level: "40",
    range: "warn",
    message: "slow query",
    attributes: { name: "shop", hostname: "vm", pid: "772", level: "40", order: "4711", v: "0" },
  },
  {
    form: "winston",
    line: `{"free":3,"level":"warn","message":"disk","timestamp":"${iso}"}`,
    level: "warn",
    range: "warn",
    message: "disk",
    attributes: { free: "3", level: "warn" },
  },
  {
    form: "winston",
    line: '{"level":"crit","message":"winston of syslog levels","timestamp":"2026-01-29 08:42:01"}',
    level: "crit",
    range: "error",
    message: "winston of syslog levels",
    attributes: { level: "crit" },
    timeNs: 1_769_676_121_000_000_000n,
  },
  {
    // winston's logstash format.
    form: "winston",
    line: `{"@fields":{"a":1,"level":"info"},"@message":"logstash","@timestamp":"${iso}"}`,
    level: "info",
    range: "info",
    message: "logstash",
    attributes: { "@fields.a": "1", "@fields.level": "info" },
  },
  {
    form: "zap",
    line: '{"level":"dpanic","ts":1769676121.0073254,"caller":"shop/main.go:12","msg":"zap float","order":4711}',
    level: "dpanic",
    range: "error",
    message: "zap float",
    attributes: { level: "dpanic", caller: "shop/main.go:12", order: "4711" },
    timeNs: 1_769_676_121_007_325_400n,
  },
  {
    // With EpochNanosTimeEncoder.
    form: "zap",
    line: '{"level":"INFO","ts":1769676121007325417,"msg":"zap nanoseconds"}',
    level: "INFO",
    range: "info",
    message: "zap nanoseconds",
    attributes: { level: "INFO" },
    timeNs: 1_769_676_121_007_325_417n,
  },
  {
    // With TimeFormatUnixMicro.
    form: "zerolog",
    line: '{"level":"error","time":1769676121007325,"error":"EOF","message":"zerolog microseconds"}',
    level: "error",
    range: "error",
    message: "zerolog microseconds",
    attributes: { level: "error", error: "EOF" },
    timeNs: 1_769_676_121_007_325_000n,
  },
  {
    form: "logrus or slog",
    line: '{"animal":"walrus","level":"warning","msg":"logrus","time":"2026-01-29T10:42:01+02:00"}',
    level: "warning",
    range: "warn",
    message: "logrus",
    attributes: { animal: "walrus", level: "warning" },
    timeNs: 1_769_676_121_000_000_000n,
  },
  {
    form: "log4j2",
    line: '{"instant":{"epochSecond":1769676121,"nanoOfSecond":7325417},"thread":"main","level":"FATAL","loggerName":"a.B","message":"log4j JsonLayout","endOfBatch":false,"threadId":1}',
    level: "FATAL",
    range: "fatal",
    message: "log4j JsonLayout",
    attributes: { thread: "main", level: "FATAL", loggerName: "a.B", endOfBatch: "false", threadId: "1" },
    timeNs: 1_769_676_121_007_325_417n,
  },
  {
    form: "log4j2",
    line: `{"timeMillis":${sampleMs},"thread":"main","level":"DEBUG","loggerName":"a.B","message":"log4j timeMillis"}`,
    level: "DEBUG",
    range: "debug",
    message: "log4j timeMillis",
    attributes: { thread: "main", level: "DEBUG", loggerName: "a.B" },
  },
  {
    // JsonTemplateLayout.
    form: "ECS",
    line: `{"@timestamp":"${iso}","ecs.version":"1.2.0","log.level":"ERROR","message":"log4j ECS","process.thread.name":"main","log.logger":"a.B"}`,
    level: "ERROR",
    range: "error",
    message: "log4j ECS",
    attributes: {
      "ecs.version": "1.2.0",
      "log.level": "ERROR",
      "process.thread.name": "main",
      "log.logger": "a.B",
    },
  },
  {
    form: "ECS",
    line: `{"@timestamp":"${iso}","ecs":{"version":"8.10.0"},"log":{"level":"warn","logger":"x"},"message":"ECS nested"}`,
    level: "warn",
    range: "warn",
    message: "ECS nested",
    attributes: { "ecs.version": "8.10.0", "log.level": "warn", "log.logger": "x" },
  },
  {
    form: "Logstash",
    line: `{"@timestamp":"${iso}","@version":"1","message":"logback","logger_name":"a.B","thread_name":"main","level":"TRACE","level_value":5000}`,
    level: "TRACE",
    range: "trace",
    message: "logback",
    attributes: {
      "@version": "1",
      logger_name: "a.B",
      thread_name: "main",
      level: "TRACE",
      level_value: "5000",
    },
  },
  {
    form: "Google Cloud",
    line: `{"severity":"CRITICAL","message":"google agent","timestamp":{"seconds":1769676121,"nanos":7000000},"httpRequest":{"status":500}}`,
    level: "CRITICAL",
    range: "fatal",
    message: "google agent",
    attributes: { severity: "CRITICAL", "httpRequest.status": "500" },
  },
  {
    form: "Google Cloud",
    line: `{"insertId":"x","severity":"NOTICE","timestamp":"2026-01-29T08:42:01.007325417Z","jsonPayload":{"message":"google entry","a":1}}`,
    level: "NOTICE",
    range: "info",
    message: "google entry",
    attributes: { insertId: "x", severity: "NOTICE", "jsonPayload.a": "1" },
    timeNs: 1_769_676_121_007_325_417n,
  },
  {
    form: "Docker's json-file",
    line: `{"log":"from a container\\n","stream":"stderr","time":"2026-01-29T08:42:01.007325417Z"}`,
    level: "",
    range: "",
    message: "from a container",
    attributes: { stream: "stderr" },
    timeNs: 1_769_676_121_007_325_417n,
  },
  {
    form: "journald",
    line: `{"__REALTIME_TIMESTAMP":"1769676121007325","PRIORITY":"3","MESSAGE":"from the journal","_PID":"1"}`,
    level: "3",
    range: "error",
    message: "from the journal",
    attributes: { PRIORITY: "3", _PID: "1" },
    timeNs: 1_769_676_121_007_325_000n,
  },
  {
    form: "GELF",
    line: '{"version":"1.1","host":"h","short_message":"gelf","timestamp":1769676121.007,"level":4,"_a":"b"}',
    level: "4",
    range: "warn",
    message: "gelf",
    attributes: { version: "1.1", host: "h", level: "4", _a: "b" },
  },
  {
    form: "structlog",
    line: `{"event":"user added","level":"warning","timestamp":"${iso}"}`,
    level: "warning",
    range: "warn",
    message: "user added",
    attributes: { level: "warning" },
  },
  {
    form: "Serilog",
    line: `{"@t":"${iso}","@m":"Hello, \\"x\\"","@l":"Warning","User":"x"}`,
    level: "Warning",
    range: "warn",
    message: 'Hello, "x"',
    attributes: { "@l": "Warning", User: "x" },
  },
  {
    form: "Serilog",
    line: `{"Timestamp":"${iso}","Level":"Error","MessageTemplate":"Serilog {User}","RenderedMessage":"Serilog x","Properties":{"User":"x"}}`,
    level: "Error",
    range: "error",
    message: "Serilog x",
    attributes: { Level: "Error", MessageTemplate: "Serilog {User}", "Properties.User": "x" },
  },
  {
    form: ".NET",
    line: `{"Timestamp":"${iso}","EventId":14,"LogLevel":"Information","Category":"Host","Message":"now listening"}`,
    level: "Information",
    range: "info",
    message: "now listening",
    attributes: { EventId: "14", LogLevel: "Information", Category: "Host" },
  },
  {
    form: "tracing",
    line: `{"timestamp":"2026-01-29T08:42:01.007325Z","level":"WARN","fields":{"message":"from Rust","n":3},"target":"shop"}`,
    level: "WARN",
    range: "warn",
    message: "from Rust",
    attributes: { level: "WARN", "fields.n": "3", target: "shop" },
    timeNs: 1_769_676_121_007_325_000n,
  },
  {
    // OpenTelemetry's number without a text, as Loki's structured metadata have it.
    form: "JSON lines",
    line: `{"ts":"${sampleMs}","severity_number":17,"body":"numbered"}`,
    level: "error",
    range: "error",
    message: "numbered",
    attributes: { severity_number: "17" },
  },
];
