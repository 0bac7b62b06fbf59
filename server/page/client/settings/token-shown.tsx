/** Shows a token, once, with the commands that use it. */

import { CopyButton } from "../ui/copy-button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export function TokenShown({ token, onClose }: { token: string; onClose(): void }) {
  return (
    <Dialog title="The token" onClose={onClose}>
      <p>It is shown this once: copy it now.</p>
      <pre class="token">{token}</pre>
      <p class="hint">
        Senders put it into the header <code>Authorization: Bearer …</code>, or use it as the password.
      </p>
      <div class="dialog-buttons">
        <CopyButton name="Copy" title="Copies the token" class="" text={() => token} />
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
