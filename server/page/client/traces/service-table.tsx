/** Services with what was measured of the calls to them, as a table. */

import { nameDuration } from "../time/range.ts";
import { TableBox } from "../ui/table-box.tsx";
import type { CallNumbers, ServiceNode } from "./answers.ts";
import { nameService, nameShare } from "./service-name.ts";

interface ServiceTableProps {
  services: readonly ServiceNode[];
  onChoose(name: string): void;
}

export function ServiceTable({ services, onChoose }: ServiceTableProps) {
  return (
    <TableBox label="Services">
      <table class="service-table">
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">Kind</th>
            <CallHeads />
          </tr>
        </thead>
        <tbody>
          {services.map((service) => (
            <tr key={service.name}>
              <td>
                <button
                  type="button"
                  class="quiet"
                  title={service.name}
                  onClick={() => onChoose(service.name)}
                >
                  <bdi>{nameService(service.name)}</bdi>
                </button>
              </td>
              <td>{service.kind}</td>
              <CallCells of={service} />
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

export function CallHeads() {
  return (
    <>
      {["Calls", "Errors", "p50", "p90", "p99"].map((name) => (
        <th key={name} scope="col" class="number">
          {name}
        </th>
      ))}
    </>
  );
}

export function CallCells({ of: { calls, errors, p50, p90, p99 } }: { of: CallNumbers }) {
  return (
    <>
      <td class="number">{calls.toLocaleString("en")}</td>
      <td class="number">
        {errors === 0 ? "0" : `${errors.toLocaleString("en")} (${nameShare(errors / calls)})`}
      </td>
      {[p50, p90, p99].map((ms, i) => (
        <td key={i} class="number">
          {ms === null ? "–" : nameDuration(ms)}
        </td>
      ))}
    </>
  );
}
