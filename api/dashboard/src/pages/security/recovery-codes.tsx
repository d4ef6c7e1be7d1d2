import { Download } from "lucide-react";

import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Dialog, DialogActions } from "@/ui/dialog";

/** Saves a text as a file. The text is not part of the URL. */
function save(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Shows recovery codes once. Only the buttons of the dialog close it. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  const text = codes.join("\n");
  return (
    <Dialog
      explicit
      onClose={onClose}
      title="Your recovery codes"
      description={
        "Each code works once instead of a code of your app, for example if you lose your phone. They are shown only " +
        "now: keep them in a safe place. Earlier recovery codes no longer work."
      }
    >
      <ul
        aria-label="Recovery codes"
        className="grid gap-x-6 gap-y-1 rounded-md border bg-muted p-3 text-center sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>
            <code className="text-sm">{code}</code>
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} label="Copy codes" />
        <Button variant="outline" size="small" onClick={() => save("comanda-recovery-codes.txt", `${text}\n`)}>
          <Download aria-hidden /> Download codes
        </Button>
      </div>
      <DialogActions>
        <Button onClick={onClose}>I have saved the codes</Button>
      </DialogActions>
    </Dialog>
  );
}
