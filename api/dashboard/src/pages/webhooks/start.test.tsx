import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test, vi } from "vitest";

import type { Delivery } from "@/domain/webhooks";

import { Start } from "./start";

vi.mock("@tanstack/react-router", () => ({
  Link: ({ params, children }: { params: { id: string }; children: ReactNode }) => <a href={params.id}>{children}</a>,
}));
vi.mock("@/session/account", () => ({ useAccount: () => ({ locale: "en", timezone: "UTC" }) }));

const queued: Delivery = {
  id: "dlv_2",
  webhookId: "whk_1",
  eventId: "evt_2",
  eventType: "order.status_updated",
  status: "queued",
  attempts: 0,
  scheduledFor: "2026-03-14T12:00:00.000Z",
  createdAt: "2026-03-14T12:00:00.000Z",
};

const show = (delivery: Delivery) => render(<Start delivery={delivery} />).container;

test("the start of a queued delivery is its time", () => {
  expect(show(queued).querySelector("time")?.dateTime).toBe(queued.scheduledFor);
});

test("a held-back delivery waits for the delivery that has the turn", () => {
  const held = show({ ...queued, scheduledFor: null, waitsFor: "dlv_1" });
  expect(held.textContent).toBe("waits for another delivery");
  expect(held.querySelector("a")?.getAttribute("href")).toBe("dlv_1");
  expect(show({ ...queued, scheduledFor: null }).textContent).toBe("waits for its turn");
});
