import { ComandaError } from "@comanda/client";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactNode, useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { api } from "@/api/client";
import type { EventType } from "@/domain/webhooks";

import { FilterField } from "./filter-field";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ params, children }: { params: { id: string }; children: ReactNode }) => <a href={params.id}>{children}</a>,
}));
vi.mock("@/session/session", () => ({
  useSession: () => ({
    defaultView: { currency: "EUR" },
    store: { storeViews: [{ currency: "EUR" }] },
    timezone: "UTC",
  }),
}));
vi.mock("@/session/account", () => ({ useAccount: () => ({ locale: "en", timezone: "UTC" }) }));

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

/** The filters and the event types of all requests, in order. */
let requests: unknown[];
let events: object[];
let sales: object[];
let results: object[] | ComandaError;

beforeEach(() => {
  requests = [];
  events = [];
  sales = [];
  results = [];
  vi.spyOn(api, "GET").mockImplementation(((path: string, { params }: { params: { query: { type: string[] } } }) => {
    if (path === "/analytics/channels") return Promise.resolve({ data: sales });
    requests.push(params.query.type);
    return Promise.resolve({ data: events });
  }) as never);
  vi.spyOn(api, "POST").mockImplementation(((_: string, { body }: { body: { filter: string } }) => {
    requests.push(body.filter);
    return results instanceof ComandaError ? Promise.reject(results) : Promise.resolve({ data: { results } });
  }) as never);
});

/** The present filter. */
let filter: string;

function Form({ initial, types }: { initial: string; types: EventType[] }) {
  const [value, setValue] = useState(initial);
  const change = (next: string) => {
    filter = next;
    setValue(next);
  };
  return <FilterField filter={value} onChange={change} events={types} />;
}

function show(initial: string, types: EventType[] = ["order.created"], retry: boolean | number = false) {
  filter = initial;
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry, retryDelay: 100_000 } } })}>
      <Form initial={initial} types={types} />
    </QueryClientProvider>,
  );
}

const button = (name: string) => screen.getByRole("button", { name });

test("conditions build an expression, and are read from it", async () => {
  show('data.source == "WEB"');
  expect((screen.getByLabelText("Web") as HTMLInputElement).checked).toBe(true);
  await userEvent.click(screen.getByLabelText("Delivery"));
  await userEvent.type(screen.getByLabelText("Minimum total in EUR"), "50");
  expect(filter).toBe(
    '!type.startsWith("order.") || ' +
      '(data.fulfillmentType == "DELIVERY" && data.source == "WEB" && data.totalMinor >= 5000)',
  );
  screen.getByText(filter);
  await userEvent.type(screen.getByLabelText("Minimum total in EUR"), "x");
  screen.getByText("Enter an amount, such as 50.00");
  expect((screen.getByLabelText("Minimum total in EUR") as HTMLInputElement).validity.valid).toBe(false);
  await userEvent.clear(screen.getByLabelText("Minimum total in EUR"));
  await userEvent.click(screen.getByLabelText("Web"));
  await userEvent.click(screen.getByLabelText("Delivery"));
  expect(filter).toBe("");
});

test("channels are those of recent orders, and others in words", async () => {
  sales = [
    { channel: null, orders: 9 },
    { channel: "Wolt", fulfillmentType: "PICKUP", orders: 2 },
    { channel: "Uber Eats", fulfillmentType: "DELIVERY", orders: 3 },
    { channel: "Wolt", fulfillmentType: "DELIVERY", orders: 2 },
  ];
  show('data.channel in ["Kiosk", "Uber Eats"]');
  await screen.findByLabelText("Wolt");
  const group = within(screen.getByRole("group", { name: "Channel" }));
  const labels = () => group.getAllByRole("checkbox").map((box) => (box as HTMLInputElement).labels![0]!.textContent);
  expect(labels()).toEqual(["Own orders", "Kiosk", "Uber Eats", "Wolt"]);
  await userEvent.click(screen.getByLabelText("Own orders"));
  await userEvent.click(screen.getByLabelText("Kiosk"));
  expect(filter).toBe('!type.startsWith("order.") || data.channel in [null, "Uber Eats"]');
  const other = screen.getByLabelText("Another channel") as HTMLInputElement;
  await userEvent.type(other, ' The "Größe" \\ ');
  expect(other.validity.valid).toBe(false);
  await userEvent.keyboard("{Enter}");
  expect([other.value, other.validity.valid]).toEqual(["", true]);
  expect(filter).toBe('!type.startsWith("order.") || data.channel in [null, "Uber Eats", "The \\"Größe\\" \\\\"]');
  await userEvent.type(other, "Wolt");
  await userEvent.click(button("Add channel"));
  expect(labels()).toEqual(["Own orders", "Kiosk", "Uber Eats", 'The "Größe" \\', "Wolt"]);
  for (const label of ["Own orders", "Uber Eats", 'The "Größe" \\', "Wolt"]) {
    await userEvent.click(screen.getByLabelText(label));
  }
  expect(filter).toBe("");
});

test("an expression that the conditions cannot show is discarded on request only", async () => {
  const expert = 'type == "order.created" || data.totalMinor > 1';
  show(expert);
  expect((screen.getByLabelText("CEL expression") as HTMLInputElement).value).toBe(expert);
  await userEvent.click(screen.getByRole("radio", { name: "Conditions" }));
  screen.getByText(/The conditions cannot show the present expression/);
  expect(screen.queryByRole("checkbox")).toBeNull();
  expect(filter).toBe(expert);
  await userEvent.click(button("Discard expression"));
  expect(filter).toBe("");
  expect(screen.getAllByRole("checkbox")).toHaveLength(9);
});

test("the preview shows the matching events of the selected types, on request only", async () => {
  const order = { fulfillmentType: "DELIVERY", source: "WEB", totalMinor: 5100, currency: "EUR" };
  const event = { timestamp: "2026-03-14T12:00:00.000Z", resource: "order/ord_1", position: 1, cursor: "c" };
  events = [
    { ...event, id: "evt_3", type: "order.created", erased: false, body: { data: order } },
    { ...event, id: "evt_2", type: "order.created", erased: true, body: null },
    { ...event, id: "evt_1", type: "order.created", erased: false, body: { data: { ...order, source: "POS" } } },
  ];
  results = [
    { eventId: "evt_3", matches: true },
    { eventId: "evt_2", matches: true, error: "the body of the event was erased" },
    { eventId: "evt_1", matches: false },
  ];
  show('data.source == "WEB"', ["order.created", "order.completed"]);
  await userEvent.click(screen.getByLabelText("Phone"));
  expect(requests).toEqual([]);
  await userEvent.click(button("Preview"));
  await screen.findByText("2 of the newest 3 events match. The filter could not be evaluated for 1 of them.");
  expect(requests).toEqual([["order.created", "order.completed"], filter]);
  const [first, second, third] = within(screen.getByRole("list", { name: "Newest events" })).getAllByRole("listitem");
  expect(first!.textContent).toContain("Match");
  expect(first!.textContent).toContain("Delivery · Web · €51.00");
  expect(within(first!).getByRole("link").getAttribute("href")).toBe("evt_3");
  expect(second!.textContent).toContain("Counts as a match: the body of the event was erased");
  expect(third!.textContent).toContain("No match");
  await userEvent.click(screen.getByLabelText("Phone"));
  expect(screen.queryByRole("list", { name: "Newest events" })).toBeNull();
  expect(requests).toHaveLength(2);
});

test("the preview selects all event types, and says that there are no events yet", async () => {
  show('data.source == "WEB"', ["*"]);
  await userEvent.click(button("Preview"));
  await screen.findByText(/^No events yet/);
  expect(requests).toEqual([[]]);
});

test("there is no preview without a filter or without event types", () => {
  show("");
  expect((button("Preview") as HTMLButtonElement).disabled).toBe(true);
});

const refusal = (status: number, code: string, more: object) =>
  new ComandaError({ status, code, message: "refused", ...more } as never);

test("an invalid expression is marked at its field until it is changed", async () => {
  events = [{ id: "evt_1", type: "order.created" }];
  const message = "line 1, column 5: undefined field 'totalMajor'";
  results = refusal(400, "VALIDATION_FAILED", { details: [{ path: "filter", message }] });
  show("data.totalMajor > 1");
  await userEvent.click(button("Preview"));
  await screen.findByText(message); // with the name as written
  expect(screen.getByLabelText("CEL expression").getAttribute("aria-invalid")).toBe("true");
  expect(screen.queryByRole("alert")).toBeNull();
  await userEvent.type(screen.getByLabelText("CEL expression"), "0");
  expect(screen.queryByText(message)).toBeNull();
});

test("an exceeded rate limit shows when the preview continues", async () => {
  events = [{ id: "evt_1", type: "order.created" }];
  results = refusal(429, "RATE_LIMITED", { retryAfter: 7 });
  show("data.totalMinor > 1", ["order.created"], 1);
  await userEvent.click(button("Preview"));
  await screen.findByText("Too many requests. This page continues in 7 seconds.");
});
