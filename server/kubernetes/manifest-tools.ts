/** What the commands for manifests compose. */

export { exportManifests, type HubResources } from "./manifests/export.ts";
export { validateManifests } from "./manifests/validation.ts";
