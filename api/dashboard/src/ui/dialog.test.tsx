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
        <Sheet title="Beside" onClose={() => setOpen(false)}>
          text
        </Sheet>
      )}
    </>
  );
}

test("Escape closes it, and the focus is again where it was", async () => {
  render(<Page />);
  const opener = screen.getByText("Open");
  opener.focus();
  await userEvent.keyboard("{Enter}");
  await screen.findByRole("dialog");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => screen.queryByRole("dialog")).toBeNull();
  await expect.poll(() => document.activeElement).toBe(opener);
});
