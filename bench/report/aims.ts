import { coldAim, type QuestionKind, questionKinds, questionShapes } from "../datasets/question.ts";
import { coldMsOf, figureOf, ratioToBestPeer, warmMsOf } from "./ratio.ts";
import type { Report, SetFigure } from "./report.ts";

/** The speed of loading a set, in times that of the fastest peer; where nothing is said, 1. */
const loadAims: Readonly<Record<string, number>> = { spans: 0.5, gauges: 0.5, counters: 0.5 };
/** Loading over HTTP takes at most so many times as long as loading directly. */
const httpTimesMax = 1.2;

/** Returns a sentence for every row of the tables that misses its aim. Rows without a peer have none. */
export function listMissedAims(report: Report): string[] {
  return [
    ...report.sets.flatMap(checkQueries),
    ...report.sets.flatMap(checkLoad),
    ...checkSizes(report),
    ...checkMixed(report),
    ...checkKernels(report),
  ];
}

/**
 * Aims: reads beside writes take at most twice their idle times, 97 % of the rows arrive in time, and a kill loses
 * nothing.
 */
function checkMixed({ mixed }: Report): string[] {
  if (mixed === undefined) return [];
  const slow = mixed.queries.flatMap(({ kind, idleMs, mixedMs }) => {
    const times = mixedMs.median / idleMs.median;
    return times <= 2
      ? []
      : [`beside writes: ${questionShapes[kind].name}: ${times.toFixed(2)} × idle, at most 2 ×`];
  });
  const { bodiesLost, bodiesTorn } = mixed.killed;
  const lost =
    bodiesLost + bodiesTorn === 0 ? [] : [`kill -9: ${bodiesLost} bodies lost and ${bodiesTorn} torn`];
  const rate = mixed.rowsPerSecond / mixed.rowsPerSecondAim;
  const late =
    rate > 0.97 ? [] : [`beside reads: ${(rate * 100).toFixed(0)} % of the rows a second that were sent`];
  return [...slow, ...lost, ...late];
}

/** Aim: kernels that compare for equality or group by code reach half the speed of reading. */
function checkKernels({ kernels }: Report): string[] {
  return kernels.flatMap(({ kind, subjects }) =>
    subjects
      .filter(({ name, ofRead }) => /equal|by (?:code|16-bit code)$/.test(name) && ofRead < 0.5)
      .map(
        ({ name, ofRead }) =>
          `kernels: ${kind}: ${name}: ${(ofRead * 100).toFixed(0)} % of reading, at least 50 %`,
      ),
  );
}

function checkQueries({ name, systems }: SetFigure): string[] {
  const miss = (kind: QuestionKind): string[] => {
    const { aim, name: query } = questionShapes[kind];
    const own = figureOf(systems, "svc")?.queries.find((one) => one.kind === kind);
    if (own?.failure !== undefined) return [`${name}: ${query}: fails: ${own.failure}`];
    const times = ratioToBestPeer(systems, (figure) => warmMsOf(figure, kind));
    const coldTimes = ratioToBestPeer(systems, (figure) => coldMsOf(figure, kind));
    return [
      ...(times === undefined || times >= aim
        ? []
        : [`${name}: ${query}: ${times.toFixed(2)} × the best peer, at least ${aim} ×`]),
      ...(coldTimes === undefined || coldTimes >= coldAim
        ? []
        : [
            `${name}: ${query}, cold: ${coldTimes.toFixed(2)} × the best peer, at least ${coldAim.toFixed(2)} ×`,
          ]),
    ];
  };
  return questionKinds.flatMap(miss);
}

function checkLoad({ name, systems }: SetFigure): string[] {
  const times = ratioToBestPeer(systems, ({ load }) => load.loadSeconds);
  if (times === undefined) return [];
  const aim = loadAims[name] ?? 1;
  const { httpSeconds, loadSeconds } = figureOf(systems, "svc")!.load;
  const httpTimes = (httpSeconds ?? 0) / loadSeconds;
  return [
    ...(times >= aim
      ? []
      : [`${name}: load: ${times.toFixed(2)} × the speed of the fastest peer, at least ${aim} ×`]),
    ...(httpTimes <= httpTimesMax
      ? []
      : [
          `${name}: load over HTTP: ${httpTimes.toFixed(2)} × as long as directly, at most ${httpTimesMax} ×`,
        ]),
  ];
}

/**
 * Aim: fewer bytes on disk than any peer, for all sets but the repeated Train Ticket, whose recorded day counts
 * instead.
 */
function checkSizes({ sets, sizes }: Report): string[] {
  return [...sets.filter(({ name }) => name !== "train-ticket"), ...sizes].flatMap(({ name, systems }) => {
    const times = ratioToBestPeer(systems, ({ load }) => load.diskBytes);
    if (times === undefined || times > 1) return [];
    return [`${name}: bytes on disk: ${(1 / times).toFixed(2)} × those of the smallest peer, fewer`];
  });
}
