import { ComandaError } from "@comanda/client";
import { useBlocker } from "@tanstack/react-router";
import { useEffect } from "react";

import { registerSender } from "@/session/unsent";

import { Button } from "./button";
import { Dialog, DialogActions } from "./dialog";

type Props = {
  unsaved: boolean;
  title?: string;
  description?: string;
  /** The message when a switch of the store or a logout is refused. */
  refusal?: string;
  /** The label of the button that leaves the page. */
  discard?: string;
};

/** Asks before the user leaves a page with unsaved changes. The browser asks when the tab is closed. */
export function LeaveDialog({
  unsaved,
  title = "Leave without saving?",
  description = "This page has changes that are not saved.",
  refusal = "This page has unsaved changes. Save or discard them first.",
  discard = "Discard changes",
}: Props) {
  const { status, proceed, reset } = useBlocker({
    // A store that requires a second factor refuses to save; its redirect must not wait for the user.
    shouldBlockFn: ({ next }) => unsaved && next.pathname !== "/security",
    enableBeforeUnload: unsaved,
    withResolver: true,
  });
  // A switch of the store or a logout stays on the page, so the router does not see it.
  useEffect(() => {
    if (!unsaved) return;
    return registerSender(() => Promise.reject(new ComandaError({ status: 0, code: "UNSAVED", message: refusal })));
  }, [unsaved, refusal]);
  if (status !== "blocked") return null;
  return (
    <Dialog onClose={reset} title={title} description={description} explicit>
      <DialogActions>
        <Button variant="outline" onClick={reset}>
          Keep editing
        </Button>
        <Button variant="danger" onClick={proceed}>
          {discard}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
