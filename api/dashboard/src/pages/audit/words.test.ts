import { describe, expect, it } from "vitest";

import { type Entry, actorOf, detailsOf } from "./words";

const entry = (part: Partial<Entry>): Entry => ({ id: "aud_1", action: "settings.changed", actor: {}, at: "2026-03-14T12:00:00.000Z", ...part });

describe("a line of the audit trail", () => {
  it("names who did it", () => {
    expect(actorOf(entry({ actor: { realm: "tenant", id: "usr_1", name: "ada@example.com" } }))).toEqual({ name: "ada@example.com", kind: "user" });
    expect(actorOf(entry({ actor: { realm: "api-key", id: "key_1" } }))).toEqual({ name: "key_1", kind: "API key" });
    expect(actorOf(entry({ actor: { realm: "tenant" } })).name).toBe("Somebody unknown");
    expect(actorOf(entry({})).name).toBe("Comanda");
  });

  it("tells what something was and what it became", () => {
    const details = { seats: { from: 40, to: 41 }, taxIncluded: { from: true, to: false }, deliveryFees: { from: {}, to: { EUR: 250 } }, events: { from: ["a"], to: ["a", "b"] } };
    expect(detailsOf(entry({ details }))).toEqual([
      { label: "Seats", text: "40 → 41" },
      { label: "Tax included", text: "yes → no" },
      { label: "Delivery fees", text: "none → EUR 250" },
      { label: "Events", text: "a → a, b" },
    ]);
    expect(detailsOf(entry({ details: { from: "STARTER", to: "GROW" } }))).toEqual([{ label: "Change", text: "STARTER → GROW" }]);
    expect(detailsOf(entry({}))).toEqual([]);
  });

  it("shows a period with more beside it member by member", () => {
    expect(detailsOf(entry({ details: { replayId: "rpl_1", from: "a", to: "b" } }))).toHaveLength(3);
  });
});
