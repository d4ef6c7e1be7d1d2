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

function Removal() {
  const [state, setState] = useState<"closed" | "open" | "removed">("closed");
  return (
    <main id="main" tabIndex={-1}>
      {state !== "removed" && <button onClick={() => setState("open")}>Remove</button>}
      {state === "open" && (
        <Sheet title="Sheet" onClose={() => setState("removed")}>
          text
        </Sheet>
      )}
    </main>
  );
}

test("the focus returns to the page if the opener is gone", async () => {
  render(<Removal />);
  screen.getByText("Remove").focus();
  await userEvent.keyboard("{Enter}");
  await screen.findByRole("dialog");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => document.activeElement?.id).toBe("main");
});
