/** A badge for what a Kubernetes object defines, and which therefore cannot be changed here. */

import type { Managed } from "../api/managed.ts";

export function ManagedBadge({ managed }: { managed: Managed | undefined }) {
  if (managed === undefined) return null;
  return (
    <span class="badge managed" title={`Defined by ${nameObject(managed)}: edit it there`}>
      k8s-managed
    </span>
  );
}

/** Says which object is to be edited instead. */
export function ManagedNote({ managed }: { managed: Managed | undefined }) {
  if (managed === undefined) return null;
  return (
    <p class="warning">
      A Kubernetes object defines this, and it cannot be changed here. Edit <bdi>{nameObject(managed)}</bdi>.
    </p>
  );
}

function nameObject({ kind = "object", name = "", namespace, cluster }: Managed): string {
  const place =
    namespace === undefined ? `cluster ${cluster}` : `namespace ${namespace} of cluster ${cluster}`;
  return `${kind} ${name} in ${place}`;
}
