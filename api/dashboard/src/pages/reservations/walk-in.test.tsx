import { ComandaError } from "@comanda/client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";
import { ToastProvider } from "@/ui/toast";

import { WalkIns } from "./walk-in";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const failure = (status: number) => new ComandaError({ status, code: "INTERNAL", message: "failed" });

/** Shows the buttons, whose confirmations fail as given. Returns the requests for seats, and a function that taps. */
function open(...failures: ComandaError[]) {
  const requests: { key: unknown; body: { partySize: number } }[] = [];
  vi.spyOn(api, "POST").mockImplementation(((_: string, { params, body }: never) => {
    const request = { key: (params as { header: Record<string, string> }).header["Idempotency-Key"], body };
    requests.push(request);
    return Promise.resolve({ data: { id: "rsv_1", ...(body as object) } });
  }) as never);
  const confirm = vi.spyOn(api, "PATCH").mockImplementation((() => {
    const failure = failures.shift();
    return failure ? Promise.reject(failure) : Promise.resolve({ data: requests.at(-1)!.body });
  }) as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ToastProvider>
        <WalkIns />
      </ToastProvider>
    </QueryClientProvider>,
  );
  const tap = async (guests: number, times: number) => {
    await userEvent.click(await screen.findByRole("button", { name: `Walk-in, ${guests} guests` }));
    await waitFor(() => expect(confirm).toHaveBeenCalledTimes(times));
    await waitFor(() => expect(screen.queryAllByRole("button", { busy: true })).toEqual([]));
  };
  return { requests, tap };
}

test("a walk-in that was not confirmed is repeated, and reserves its seats once", async () => {
  const { requests, tap } = open(failure(503));
  await tap(3, 1);
  await tap(3, 2);
  expect(requests[1]).toEqual(requests[0]);
  await screen.findByText("3 guests seated");
  await tap(3, 3);
  expect(requests[2]!.key).not.toBe(requests[0]!.key);
});

test("a refused walk-in, and one of other guests, are not repeated", async () => {
  const { requests, tap } = open(failure(409), failure(503));
  await tap(3, 1);
  await tap(3, 2);
  await tap(4, 3);
  expect(new Set(requests.map(({ key }) => key)).size).toBe(3);
});
