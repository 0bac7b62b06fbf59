/** What the command `svc exporter` composes. */

export {
  type ConnectionSettings,
  readKubeconfig,
  readKubeletSettings,
  readPodSettings,
} from "./cluster/connection-settings.ts";
export { Exporter } from "./exporter/exporter.ts";
export { NodeExporter } from "./exporter/node-exporter.ts";
