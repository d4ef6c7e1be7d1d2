import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";

import { Sheet } from "./dialog";
import { ToastProvider, useToast } from "./toast";

function Page() {
  const [open, setOpen] = useState(true);
  const toast = useToast();
  return open && (
    <Sheet title="Beside" onClose={() => setOpen(false)}>
      <button onClick={() => toast("It is done")}>Do it</button>
    </Sheet>
  );
}

test("Escape closes a dialog at once, also while a message is shown", async () => {
  render(<Page />, { wrapper: ToastProvider });
  await userEvent.click(await screen.findByText("Do it"));
  await screen.findAllByText("It is done");
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => screen.queryByRole("dialog")).toBeNull();
});
