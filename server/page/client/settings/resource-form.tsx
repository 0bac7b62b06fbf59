/** The form of one resource. Members that it has no field for are sent back as they were read. */

import { useSignal } from "@preact/signals";
import { ApiProblem, ask } from "../api/client.ts";
import { Field } from "../ui/field.tsx";
import { type FormField, nameOf, type Resource, type SettingsKind } from "./kinds.ts";

interface ResourceFormProps {
  kind: SettingsKind;
  resource: Resource;
  /** Undefined for a new one. */
  id: string | undefined;
  /** The revision that was read, which alone is replaced; undefined for a new one. */
  etag?: string | undefined;
  /** Reads the resource anew, and gives up what was changed in the form. */
  onLoadAgain?: () => void;
  onSaved(answer: { token?: string }): void;
  onClose(): void;
}

export function ResourceForm(props: ResourceFormProps) {
  const { kind, resource, id, etag, onLoadAgain, onSaved, onClose } = props;
  const texts = useSignal<Record<string, string>>(
    Object.fromEntries(kind.fields.map((field) => [field.name, writeText(field, resource[field.name])])),
  );
  const problem = useSignal<ApiProblem | undefined>(undefined);
  /** A field that does not belong to what the others say is neither shown nor sent. */
  const isOffered = ({ when }: FormField) => when === undefined || when(texts.value);
  /** What is to be sent. Throws ApiProblem for JSON that is none. */
  const read = (): Resource => {
    const { hasSecret: _, managed: __, ...next } = resource;
    for (const field of kind.fields) {
      const value = isOffered(field) ? readText(field, texts.value[field.name]!, kind.singular) : undefined;
      if (value === undefined) delete next[field.name];
      else next[field.name] = value;
    }
    return next;
  };
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const body = { [kind.singular]: read() };
      const path = id === undefined ? kind.createPath : `${kind.path}/${encodeURIComponent(id)}`;
      onSaved(
        await ask(`/api/v1${path}`, { method: id === undefined ? "POST" : "PUT", body, ifMatch: etag }),
      );
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      problem.value =
        error.status === 412
          ? new ApiProblem(`Somebody else has changed this ${nameOf(kind)} meanwhile.`, 412)
          : error;
    }
  };
  const shown = kind.fields.filter(
    (field) => isOffered(field) && !(field.isFixed === true && id !== undefined),
  );
  const fieldOfProblem = shown.find(({ name }) => isAbout(problem.value, `${kind.singular}.${name}`));
  return (
    <form class="dialog-form" onSubmit={save}>
      {shown.map((field) => (
        <Field
          key={field.name}
          label={field.label}
          hint={field.hint}
          problem={field === fieldOfProblem ? problem.value!.message : undefined}
        >
          {(attributes) => (
            <Control
              attributes={attributes}
              field={field}
              text={texts.value[field.name]!}
              onInput={(text) => {
                texts.value = { ...texts.value, [field.name]: text };
              }}
            />
          )}
        </Field>
      ))}
      {problem.value === undefined || fieldOfProblem !== undefined ? null : (
        <p class="problem" role="alert">
          {problem.value.message}
        </p>
      )}
      {problem.value?.status !== 412 ? null : (
        <p>
          <button type="button" onClick={onLoadAgain}>
            Load what is there now
          </button>{" "}
          Your changes in this form are given up then.
        </p>
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Save
        </button>
      </div>
    </form>
  );
}

function isAbout(problem: ApiProblem | undefined, member: string): boolean {
  const field = problem?.field;
  return (
    field === member || field?.startsWith(`${member}.`) === true || field?.startsWith(`${member}[`) === true
  );
}

interface ControlProps {
  attributes: object;
  field: FormField;
  text: string;
  onInput(text: string): void;
}

function Control({ attributes, field: { type, choices = [] }, text, onInput }: ControlProps) {
  if (type === "choice")
    return (
      <select {...attributes} value={text} onChange={(event) => onInput(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  if (type === "text" || type === "names")
    return <input {...attributes} value={text} onInput={(event) => onInput(event.currentTarget.value)} />;
  return (
    <textarea
      {...attributes}
      rows={type === "headers" ? 3 : 8}
      spellcheck={false}
      value={text}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

function writeText({ type, choices = [] }: FormField, value: unknown): string {
  switch (type) {
    case "names":
      return ((value ?? []) as string[]).join(", ");
    case "json":
      return JSON.stringify(value ?? [], null, 2);
    case "headers":
      return Object.entries((value ?? {}) as Record<string, string>)
        .map(([name, text]) => `${name}: ${text}`)
        .join("\n");
    case "choice":
      return String(value ?? choices[0]);
    default:
      return String(value ?? "");
  }
}

/** The member that a text means; undefined where it is to be left out. */
function readText({ name, type }: FormField, text: string, singular: string): unknown {
  switch (type) {
    case "names":
      return text
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "");
    case "json":
      try {
        return JSON.parse(text);
      } catch (error) {
        throw new ApiProblem(`${(error as Error).message}`, 400, { field: `${singular}.${name}` });
      }
    case "headers":
      return Object.fromEntries(
        text
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map((line) => {
            const at = line.indexOf(":");
            if (at > 0) return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
            throw new ApiProblem(`${line} must be a name, a colon and a value`, 400, {
              field: `${singular}.${name}`,
            });
          }),
      );
    default:
      return text === "" ? undefined : text;
  }
}
