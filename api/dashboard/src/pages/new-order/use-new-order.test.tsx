import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";
import { allOf } from "@/api/queries";
import { ToastProvider } from "@/ui/toast";

import { newLine, withLine } from "./draft";
import { useNewOrder } from "./use-new-order";

const session = {
  viewId: "view_eur",
  currency: "EUR",
  country: "DE",
  timezone: "UTC",
  defaultView: { locale: "de-DE" },
};
vi.mock("@/session/session", () => ({ useSession: () => session }));
vi.mock("@tanstack/react-router", () => ({ useNavigate: () => vi.fn() }));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** Starts an order with a discount of 5.00 EUR, whose price the service returns in a currency. */
function open(currency: string) {
  const client = new QueryClient();
  const invalidated = vi.spyOn(client, "invalidateQueries");
  vi.spyOn(api, "GET").mockImplementation((() => new Promise(() => {})) as never);
  const post = vi
    .spyOn(api, "POST")
    .mockImplementation((() => Promise.resolve({ data: { currency, totalMinor: 1200 } })) as never);
  const { result } = renderHook(useNewOrder, {
    wrapper: ({ children }) => (
      <QueryClientProvider client={client}>
        <ToastProvider>{children}</ToastProvider>
      </QueryClientProvider>
    ),
  });
  act(() =>
    result.current.setDraft((draft) =>
      withLine({ ...draft, discount: "5.00" }, newLine(draft, { id: "prd_1", name: "Pizza" })),
    ),
  );
  return { result, post, invalidated };
}

test("the price and the order are those of the shown view", async () => {
  const { result, post } = open("EUR");
  await waitFor(() => expect(result.current.quote.current?.totalMinor).toBe(1200));
  const body = { storeViewId: "view_eur", discountMinor: 500 };
  expect(post).toHaveBeenLastCalledWith(
    "/orders/quote",
    expect.objectContaining({ body: expect.objectContaining(body) }),
  );
  act(() => result.current.placing.place(result.current.draft, 1200));
  await waitFor(() =>
    expect(post).toHaveBeenLastCalledWith("/orders", expect.objectContaining({ body: expect.objectContaining(body) })),
  );
});

test("an order with a price in another currency cannot be placed, and the view is read again", async () => {
  const { result, invalidated } = open("JPY");
  await waitFor(() => expect(invalidated).toHaveBeenCalledWith(allOf("me")));
  expect(invalidated).toHaveBeenCalledWith(allOf("stores"));
  expect(result.current.quote.current).toBeUndefined();
});
