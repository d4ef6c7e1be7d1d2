import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";

import { Menu, MenuItem } from "./menu";

test("arrow keys move in a menu, and only Enter starts an action", async () => {
  const start = vi.fn();
  render(
    <Menu trigger={<button>Skip to…</button>}>
      <MenuItem onSelect={() => start("preparing")}>Start preparing</MenuItem>
      <MenuItem onSelect={() => start("ready")}>Mark ready</MenuItem>
    </Menu>,
  );
  const open = async () => {
    screen.getByText("Skip to…").focus();
    await userEvent.keyboard("{Enter}");
    await screen.findByText("Start preparing");
    await userEvent.keyboard("{ArrowDown}");
  };
  await open();
  await userEvent.keyboard("{Escape}");
  await expect.poll(() => screen.queryByRole("menuitem")).toBeNull();
  expect(start).not.toHaveBeenCalled();
  await open();
  await userEvent.keyboard("{Enter}");
  expect(start.mock.calls).toEqual([["ready"]]);
});
