/** Shows a token, once, with the commands that use it. */

import { useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.tsx";

export function TokenShown({ token, onClose }: { token: string; onClose(): void }) {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <Dialog title="The token" onClose={onClose}>
      <p>It is shown this once: copy it now.</p>
      <pre class="token">{token}</pre>
      <p class="hint">
        Senders put it into the header <code>Authorization: Bearer …</code>, or use it as the password.
      </p>
      <div class="dialog-buttons">
        <button
          type="button"
          onClick={async () => {
            await navigator.clipboard.writeText(token);
            setIsCopied(true);
          }}
        >
          {isCopied ? "Copied" : "Copy"}
        </button>
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
