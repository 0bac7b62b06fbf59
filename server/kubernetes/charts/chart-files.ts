/** Every file of the charts that is made of the sources. */

import { basename, dirname } from "node:path";
import { crdManifests } from "../resources/crd-manifests.ts";
import { plainManifests } from "./chart.ts";
import { valuesSchemas } from "./values-schema.ts";

/** Texts by their path below this folder. */
export function chartFiles(): Map<string, string> {
  const crds = crdManifests();
  const crdNames = [...crds.keys()]
    .filter((path) => dirname(path) === "manifests/crds")
    .map((path) => basename(path));
  return new Map([...crds, ...plainManifests(crdNames), ...valuesSchemas()]);
}
