/** The dialog in which a resource is made or changed. What is changed is read when the dialog opens. */

import { useEffect } from "preact/hooks";
import { askWithEtag } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { Dialog } from "../ui/dialog.tsx";
import { nameOf, type Resource, type SettingsKind } from "./kinds.ts";
import { ResourceForm } from "./resource-form.tsx";

interface ResourceDialogProps {
  kind: SettingsKind;
  /** Undefined for a new one. */
  id: string | undefined;
  onSaved(answer: { token?: string }): void;
  onClose(): void;
}

export function ResourceDialog(props: ResourceDialogProps) {
  const { kind, id, onClose } = props;
  if (id !== undefined) return <StoredDialog {...props} id={id} />;
  return (
    <Dialog title={`New ${nameOf(kind)}`} onClose={onClose}>
      <ResourceForm {...props} resource={kind.blank} />
    </Dialog>
  );
}

/** Changes a resource that is stored. The dialog opens once it was read, so that its first field has the focus. */
function StoredDialog(props: ResourceDialogProps & { id: string }) {
  const { kind, id, onClose } = props;
  const loading = useLoading((asked: string, signal: AbortSignal) =>
    askWithEtag<Record<string, Resource>>(`/api/v1${kind.path}/${encodeURIComponent(asked)}`, { signal }),
  );
  const load = () => void loading.load(id);
  useEffect(load, [id]);
  const found = loading.answer.value;
  const problem = loading.problem.value;
  if (found === undefined && problem === undefined) return null;
  return (
    <Dialog title={`Edit ${nameOf(kind)}`} onClose={onClose}>
      {problem === undefined ? null : (
        <p class="problem" role="alert">
          {problem.message}
        </p>
      )}
      {found === undefined ? (
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      ) : (
        <ResourceForm
          key={found.etag}
          {...props}
          resource={found.answer[kind.singular]!}
          etag={found.etag}
          onLoadAgain={load}
        />
      )}
    </Dialog>
  );
}
