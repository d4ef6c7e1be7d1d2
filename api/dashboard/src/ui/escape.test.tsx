import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";

import { Sheet } from "./dialog";
import { ToastProvider, useToast } from "./toast";

function Page() {
  const [open, setOpen] = useState(true);
  const toast = useToast();
  return (
    open && (
      <Sheet title="Sheet" onClose={() => setOpen(false)}>
        <button onClick={() => toast("Saved")}>Save</button>
      </Sheet>
    )
  );
}

test("one Escape closes a dialog even while a toast is shown", async () => {
  render(<Page />, { wrapper: ToastProvider });
  await userEvent.click(await screen.findByText("Save"));
  await screen.findAllByText("Saved");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => screen.queryByRole("dialog")).toBeNull();
});
