import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";
import { setAccessToken } from "@/api/token";

import { AccountProvider, useAccount } from "./account";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  setAccessToken(null);
});

const view = { storeId: "sto_1", locale: "de-DE", currency: "EUR", timezone: "Europe/Berlin" };

/** Returns an access token of the user for the store. */
const tokenOf = (id: number) => `h.${btoa(JSON.stringify({ sub: "usr_1", storeId: "sto_1", id }))}.s`;

function Page() {
  const { store } = useAccount();
  return <input aria-label={`Discount in ${store!.currency}`} />;
}

/** Shows a page in a view, with a typed amount. Returns the view that the service has, which a test may change. */
async function open() {
  const service = { ...view };
  vi.spyOn(api, "GET").mockImplementation((() =>
    Promise.resolve({ data: { user: { id: "usr_1" }, store: { ...service } } })) as never);
  setAccessToken(tokenOf(1));
  render(
    <QueryClientProvider client={new QueryClient()}>
      <AccountProvider fallback={() => "Loading"}>
        <Page />
      </AccountProvider>
    </QueryClientProvider>,
  );
  await userEvent.type(await screen.findByLabelText("Discount in EUR"), "5.00");
  return service;
}

test("a token of another tab with another view starts the page again in its currency", async () => {
  const service = await open();
  service.currency = "JPY";
  act(() => setAccessToken(tokenOf(2)));
  expect(((await screen.findByLabelText("Discount in JPY")) as HTMLInputElement).value).toBe("");
});

test("a renewed token keeps the page", async () => {
  await open();
  act(() => setAccessToken(tokenOf(2)));
  await vi.waitFor(() => expect(api.GET).toHaveBeenCalledTimes(2));
  expect(((await screen.findByLabelText("Discount in EUR")) as HTMLInputElement).value).toBe("5.00");
});
