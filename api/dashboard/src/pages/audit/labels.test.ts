import { describe, expect, it } from "vitest";

import { formatMoney } from "@/domain/money";
import { formatRate } from "@/domain/percent";

import { type Entry, actorOf, detailsOf } from "./labels";

const formats = {
  money: (minor: number, currency: string) => formatMoney(minor, currency, "en-US"),
  time: (at: string) => `at ${at.slice(11, 16)}`,
  rate: (ppm: number) => formatRate(ppm, "en-US"),
  weekday: (day: string) => day.toUpperCase(),
};

const entry = (part: Partial<Entry>): Entry => ({
  id: "aud_1",
  action: "settings.changed",
  actor: {},
  at: "2026-03-14T12:00:00.000Z",
  ...part,
});

describe("an audit entry", () => {
  it("names its actor", () => {
    expect(actorOf(entry({ actor: { realm: "tenant", id: "usr_1", name: "ada@example.com" } }))).toEqual({
      name: "ada@example.com",
      kind: "user",
    });
    expect(actorOf(entry({ actor: { realm: "api-key", id: "key_1" } }))).toEqual({ name: "key_1", kind: "API key" });
    expect(actorOf(entry({ actor: { realm: "tenant" } })).name).toBe("Unknown");
    expect(actorOf(entry({})).name).toBe("Comanda");
  });

  it("shows old and new values", () => {
    const details = {
      seats: { from: 40, to: 41 },
      taxIncluded: { from: true, to: false },
      deliveryFees: { from: {}, to: { EUR: 250 } },
      events: { from: ["a"], to: ["a", "b"] },
    };
    expect(detailsOf(entry({ details }), formats)).toEqual([
      { label: "Seats", text: "40 → 41" },
      { label: "Tax included", text: "yes → no" },
      { label: "Delivery fees", text: "none → €2.50" },
      { label: "Events", text: "a → a, b" },
    ]);
    expect(detailsOf(entry({ details: { from: "STARTER", to: "GROW" } }), formats)).toEqual([
      { label: "Change", text: "Starter → Grow" },
    ]);
    expect(detailsOf(entry({ details: { role: "STAFF", name: "READY" } }), formats)).toEqual([
      { label: "Role", text: "Staff" },
      { label: "Name", text: "READY" },
    ]);
    const managedBy = { planManagedBy: { from: "OWNER", to: "PLATFORM" } };
    expect(detailsOf(entry({ details: managedBy }), formats)).toEqual([
      { label: "Plan managed by", text: "Owners and platform administrators → Platform administrators only" },
    ]);
    expect(detailsOf(entry({}), formats)).toEqual([]);
  });

  it("shows money, rates and times as people write them", () => {
    const details = {
      currency: "JPY",
      priceMinor: { from: 900, to: 1200 },
      taxRatePpm: { from: 70_000, to: 190_000 },
      until: "2026-03-14T12:30:00.000Z",
    };
    expect(detailsOf(entry({ details }), formats)).toEqual([
      { label: "Price", text: "¥900 → ¥1,200" },
      { label: "Tax rate", text: "7% → 19%" },
      { label: "Until", text: "at 12:30" },
    ]);
  });

  it("shows opening hours in the order of the week, and closed days", () => {
    const span = { from: "11:00", to: "02:00" };
    const details = {
      openingHours: { from: {}, to: { DINE_IN: { fri: [span], mon: [span, span] } } },
      closures: { from: [], to: [{ from: "2026-12-24", to: "2026-12-26" }] },
    };
    expect(detailsOf(entry({ details }), formats)).toEqual([
      { label: "Opening hours", text: "none → Dine in MON 11:00–02:00, 11:00–02:00, FRI 11:00–02:00" },
      { label: "Closures", text: "none → 2026-12-24–2026-12-26" },
    ]);
  });

  it("shows changed prices by currency, of a product and of its options", () => {
    const details = {
      name: "Pizza",
      prices: { from: { EUR: 950 }, to: { EUR: 1000, USD: 1100 } },
      options: { "Size: Large": { from: { EUR: 150 }, to: {} } },
    };
    expect(detailsOf(entry({ action: "product.prices_changed", details }), formats)).toEqual([
      { label: "Name", text: "Pizza" },
      { label: "Prices", text: "€9.50 → €10.00, $11.00" },
      { label: "Options", text: "Size: Large €1.50 → none" },
    ]);
  });

  it("shows the total of a cancelled order", () => {
    const details = { orderId: "1001", previousStatus: "RECEIVED", totalMinor: 1234, currency: "EUR" };
    expect(detailsOf(entry({ action: "order.cancelled", details }), formats)).toEqual([
      { label: "Order id", text: "1001" },
      { label: "Previous status", text: "Received" },
      { label: "Total", text: "€12.34" },
    ]);
  });

  it("shows from and to separately if there are more members", () => {
    expect(detailsOf(entry({ details: { replayId: "rpl_1", from: "a", to: "b" } }), formats)).toHaveLength(3);
  });
});
