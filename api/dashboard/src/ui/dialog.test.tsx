import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";

import { Sheet } from "./dialog";

function Page() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button onClick={() => setOpen(true)}>Open</button>
      {open && (
        <Sheet title="Sheet" onClose={() => setOpen(false)}>
          text
        </Sheet>
      )}
    </>
  );
}

test("Escape closes a sheet and restores the focus", async () => {
  render(<Page />);
  const opener = screen.getByText("Open");
  opener.focus();
  await userEvent.keyboard("{Enter}");
  await screen.findByRole("dialog");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => screen.queryByRole("dialog")).toBeNull();
  await expect.poll(() => document.activeElement).toBe(opener);
});

function Removal({ entry }: { entry?: boolean }) {
  const [state, setState] = useState<"closed" | "open" | "removed">("closed");
  return (
    <main id="main" tabIndex={-1}>
      <div id="entry" tabIndex={entry ? -1 : undefined}>
        {state !== "removed" && <button onClick={() => setState("open")}>Remove</button>}
      </div>
      {state === "open" && (
        <Sheet title="Sheet" onClose={() => setState("removed")}>
          text
        </Sheet>
      )}
    </main>
  );
}

test.each([
  ["the entry of the list", true, "entry"],
  ["the page", false, "main"],
])("the focus returns to %s if the opener is gone", async (_, entry, target) => {
  render(<Removal entry={entry} />);
  screen.getByText("Remove").focus();
  await userEvent.keyboard("{Enter}");
  await screen.findByRole("dialog");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => document.activeElement?.id).toBe(target);
});
