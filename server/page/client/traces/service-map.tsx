/** Which services call which in a range: a drawing, and the numbers of the service that is looked into. */

import { useEffect } from "preact/hooks";
import { loadChunk } from "../api/chunk.ts";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import { nameDuration } from "../time/range.ts";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { ServiceMapAnswer } from "./answers.ts";
import type { SpanSearch } from "./duration-histogram.tsx";
import { MapDrawing, serviceBox } from "./map-drawing.tsx";
import type { MapLayout } from "./map-layout.ts";
import { ServiceDetail } from "./service-detail.tsx";
import { ServiceTable } from "./service-table.tsx";

/** Services that are drawn; more are in the table alone. */
const drawnMax = 100;

interface PlacedMap {
  answer: ServiceMapAnswer;
  layout: MapLayout;
}

async function loadMap(body: SpanSearch, signal: AbortSignal): Promise<PlacedMap> {
  const [answer, { placeServices }] = await Promise.all([
    ask<ServiceMapAnswer>("/api/v1/query/service-map", { body, signal }),
    // Only maps need the code that places services.
    loadChunk(() => import("./map-layout.ts")),
  ]);
  return { answer, layout: placeServices(answer.services.slice(0, drawnMax), answer.edges, serviceBox) };
}

export function ServiceMap({ asked }: { asked: SpanSearch }) {
  const loading = useLoading(loadMap);
  useEffect(() => void loading.load(asked), [asked]);
  const { answer, layout } = loading.answer.value ?? {};
  const chosen = parameters.value.get("service") ?? undefined;
  const choose = (name: string | undefined) =>
    go(withParameters({ service: name ?? null }), { replace: true });
  return (
    <>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {answer?.warnings?.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      {answer === undefined || layout === undefined ? null : (
        <>
          <p role="status" class="hint">
            {describeAnswer(answer, loading.tookMs.value)}
          </p>
          <div class={loading.isLoading.value ? "map-and-detail stale" : "map-and-detail"}>
            <TableBox label="Service map" class="map-box-scroll">
              <MapDrawing
                layout={layout}
                chosen={chosen}
                seconds={(answer.endTime - answer.startTime) / 1_000}
                onChoose={choose}
              />
            </TableBox>
            <ChosenService answer={answer} name={chosen} onChoose={choose} />
          </div>
          <ServiceTable services={answer.services} onChoose={choose} />
        </>
      )}
    </>
  );
}

function describeAnswer({ spans, services, startTime, endTime }: ServiceMapAnswer, tookMs: number): string {
  if (spans === 0) return "No span in this range.";
  const drawn = services.length > drawnMax ? `; the ${drawnMax} with the most calls are drawn` : "";
  return `${nameCount(spans, "span")} of ${nameCount(services.length, "service")}${drawn}, ${clock.value.full(startTime)} to ${clock.value.full(endTime)}, in ${nameDuration(tookMs)}`;
}

interface ChosenServiceProps {
  answer: ServiceMapAnswer;
  name: string | undefined;
  onChoose(name: string | undefined): void;
}

function ChosenService({ answer, name, onChoose }: ChosenServiceProps) {
  const service = answer.services.find((each) => each.name === name);
  if (service === undefined) return null;
  return <ServiceDetail answer={answer} service={service} onChoose={onChoose} />;
}
