/** A field of a form: its label, what it is for, and what is wrong with it. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  /** Draws the control; it takes the attributes that tie it to label and texts. */
  children(attributes: ControlAttributes): ComponentChildren;
}

interface ControlAttributes {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  const texts = [hint === undefined ? "" : `${id}-hint`, problem === undefined ? "" : `${id}-problem`];
  const described = texts.join(" ").trim();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described === "" ? {} : { "aria-describedby": described }),
        ...(problem === undefined ? {} : { "aria-invalid": true }),
      })}
      {hint === undefined ? null : (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {problem === undefined ? null : (
        <p id={`${id}-problem`} class="problem small" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
