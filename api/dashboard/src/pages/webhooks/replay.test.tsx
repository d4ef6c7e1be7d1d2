import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";

import { ReplayDialog } from "./replay";

afterEach(() => vi.restoreAllMocks());

test("the dry run and the replay use the same filters", async () => {
  vi.spyOn(api, "GET").mockResolvedValue({ data: [] } as never);
  type ReplayBody = { to?: string; reason?: string; status?: string; dryRun?: boolean };
  const dryRuns: ReplayBody[] = [];
  const replays: ReplayBody[] = [];
  vi.spyOn(api, "POST").mockImplementation(((_path: string, { body }: { body: ReplayBody }) => {
    (body.dryRun ? dryRuns : replays).push(body);
    return Promise.resolve({
      data: { status: "dry_run", matched: body.reason ? 2 : 5, replayed: 0, skipped: 0, inProgress: 0 },
    });
  }) as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ReplayDialog webhooks={[]} reason="HTTP 500" onClose={() => {}} />
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByRole("button", { name: "Replay 2" }));
  await userEvent.selectOptions(screen.getByLabelText("Reason"), "Any");
  await userEvent.click(await screen.findByRole("button", { name: "Replay 5" }));
  expect(replays).toMatchObject([
    { reason: "HTTP 500", status: "dead_letter" },
    { reason: undefined, status: "dead_letter" },
  ]);
  expect([...dryRuns, ...replays].filter(({ to }) => to !== undefined)).toEqual([]); // includes clocks that are ahead
  await userEvent.selectOptions(screen.getByLabelText("Reason"), "HTTP 500");
  await userEvent.selectOptions(screen.getByLabelText("Status"), "cancelled");
  await screen.findByRole("button", { name: "Replay 5" });
  expect(dryRuns[0]).toMatchObject({ reason: "HTTP 500", status: "dead_letter" });
  expect(dryRuns.at(-1)).toMatchObject({ reason: undefined, status: "cancelled" });
});
