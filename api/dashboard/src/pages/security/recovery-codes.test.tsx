import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";

import { RecoveryCodesDialog } from "./recovery-codes";

test("recovery codes are listed and copied, one per line, until the user confirms that they are saved", async () => {
  const user = userEvent.setup();
  let closed = 0;
  render(<RecoveryCodesDialog codes={["aaaa-bbbb", "cccc-dddd"]} onClose={() => closed++} />);
  const list = await screen.findByRole("list", { name: "Recovery codes" });
  expect(within(list).getAllByRole("listitem")).toHaveLength(2);
  await user.click(screen.getByText("Copy codes"));
  expect(await navigator.clipboard.readText()).toBe("aaaa-bbbb\ncccc-dddd");
  await user.keyboard("{Escape}");
  expect(closed).toBe(0);
  await user.click(screen.getByText("I have saved the codes"));
  expect(closed).toBe(1);
});
