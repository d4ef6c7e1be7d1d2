import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";

import { ReplayDialog } from "./replay";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

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

test("a repetition keeps the idempotency key, another replay has a new one", async () => {
  vi.spyOn(api, "GET").mockResolvedValue({ data: [] } as never);
  type Replay = { body: { from: string; status?: string; dryRun?: boolean }; params?: { header?: object } };
  const replays: Replay[] = [];
  const lost = new TypeError("Failed to fetch");
  const counts = { matched: 5, replayed: 0, skipped: 0, inProgress: 0 };
  vi.spyOn(api, "POST").mockImplementation(((_path: string, { body, params }: Replay) => {
    if (body.dryRun) return Promise.resolve({ data: { status: "dry_run", ...counts } });
    replays.push({ body, params });
    if (replays.length !== 4) return Promise.reject(lost);
    return Promise.resolve({ data: { id: "rpl_1", status: "running", ...counts } });
  }) as never);
  const open = () =>
    render(
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <ReplayDialog webhooks={[]} onClose={() => {}} />
      </QueryClientProvider>,
    );
  const replay = async () => userEvent.click(await screen.findByRole("button", { name: "Replay 5" }));
  const { unmount } = open();
  await replay();
  await screen.findByRole("alert");
  await replay();
  await waitFor(() => expect(replays).toHaveLength(2));
  expect(replays[1]).toEqual(replays[0]);

  await userEvent.selectOptions(screen.getByLabelText("Status"), "cancelled");
  await replay();
  await waitFor(() => expect(replays).toHaveLength(3));
  await replay();
  await screen.findByText("Replay progress"); // its form is gone
  expect(screen.queryByRole("button", { name: "Replay 5" })).toBeNull();
  unmount();
  open();
  await replay();
  await waitFor(() => expect(replays).toHaveLength(5));
  expect(replays[3]).toEqual(replays[2]);
  const keys = replays.map(({ params }) => JSON.stringify(params?.header));
  expect(new Set(keys).size).toBe(3);
});
