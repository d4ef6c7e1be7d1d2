import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";
import type { Reservation } from "@/domain/reservations";

import { FreeTimes } from "./free-times";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const reservation = {
  id: "rsv_1",
  startAt: "2026-03-20T18:10:00.000Z", // 19:10 in Berlin
  partySize: 4,
  durationMinutes: 90,
} as Reservation;

/** Shows the free times around a wanted one, of which the store has 19:15 and 19:30. Returns them after the text. */
async function shown(wanted: Partial<Parameters<typeof FreeTimes>[0]>) {
  const slots = ["18:15", "18:30"].map((clock) => ({ startAt: `2026-03-20T${clock}:00.000Z`, seatsLeft: 4 }));
  vi.spyOn(api, "GET").mockResolvedValue({ data: slots } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <FreeTimes
        {...{ day: "2026-03-20", time: "19:10", partySize: "4", minutes: "90", timezone: "Europe/Berlin" }}
        {...wanted}
        onPick={() => {}}
      />
    </QueryClientProvider>,
  );
  await screen.findByRole("group", { name: "Free times" });
  const text = screen.getByText(/:$/).textContent;
  return [text, ...screen.getAllByRole("button").map((button) => button.textContent)];
}

test.each([
  ["its own time", { reservation }, ["Free times:", "19:10", "19:15", "19:30"]],
  ["a smaller party", { reservation, partySize: "2" }, ["Free times:", "19:10", "19:15", "19:30"]],
  ["another time", { reservation, time: "19:30" }, ["Free times:", "19:10", "19:15", "19:30"]],
  ["a larger party", { reservation, partySize: "5" }, ["The free quarter hours closest to 19:10:", "19:15", "19:30"]],
  ["more time", { reservation, minutes: "120" }, ["The free quarter hours closest to 19:10:", "19:15", "19:30"]],
  ["another day", { reservation, day: "2026-03-21" }, ["The free quarter hours closest to 19:10:", "19:15", "19:30"]],
  ["a new one", { time: "20:00" }, ["20:00 is not a free time. The closest ones:", "19:15", "19:30"]],
])("the free times of a reservation at 19:10: %s", async (_, wanted, want) => {
  expect(await shown(wanted)).toEqual(want);
});
