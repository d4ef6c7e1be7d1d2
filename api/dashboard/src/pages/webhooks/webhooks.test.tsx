import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import type { Webhook } from "@/domain/webhooks";

import { healthOf } from "./health";
import { deadLettersSearch, webhookSearch } from "./search";
import { newSecret } from "./secret";
import { receiverOf, snippets } from "./snippets";

const webhook: Webhook = {
  id: "whk_1",
  description: "",
  url: "https://example.com/hook",
  events: ["order.created"],
  filter: null,
  ordering: "none",
  headerNames: [],
  isActive: true,
  createdAt: "2026-03-14T12:00:00.000Z",
  updatedAt: "2026-03-14T12:00:00.000Z",
  lastDeliveryAt: null,
  failureCount: 0,
  failingDays: 0,
  version: 1,
};

test("healthOf shows failures and the days until it is turned off", () => {
  const at = "2026-03-14T12:00:00.000Z";
  const failing = { ...webhook, lastDeliveryAt: at, failureCount: 1234, failingSince: at };
  expect(healthOf(webhook, 7).label).toBe("no deliveries yet");
  expect(healthOf({ ...webhook, lastDeliveryAt: at }, 7)).toEqual({ tone: "good", label: "healthy" });
  expect(healthOf({ ...failing, failureCount: 1 }, 7)).toEqual({
    tone: "warn",
    label: "failing",
    detail: "1 failure · day 1 of 7 until it is turned off",
  });
  expect(healthOf({ ...failing, failingDays: 4 }, 7)).toMatchObject({
    tone: "warn",
    detail: "1,234 consecutive failures · day 5 of 7 until it is turned off",
  });
  expect(healthOf({ ...failing, failingDays: 5 }, 7)).toMatchObject({
    tone: "bad",
    detail: "1,234 consecutive failures · day 6 of 7 until it is turned off",
  });
  expect(healthOf({ ...failing, failingDays: 7 }, 7).detail).toMatch(/day 7 of 7 until/);
  expect(healthOf({ ...failing, isActive: false }, 7)).toEqual({
    tone: "neutral",
    label: "turned off",
    detail: "1,234 consecutive failures",
  });
});

test("generated secrets are unique and URL-safe", () => {
  const secrets = Array.from({ length: 100 }, newSecret);
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(new Set(secrets).size).toBe(100);
});

test("search parameters are parsed and invalid values are dropped", () => {
  const full = {
    span: "7d",
    status: "failed",
    eventType: "order.created",
    eventId: "evt_1",
    from: "2026-03-14T12:00:00Z",
    to: "2026-03-14T13:00:00Z",
    page: 3,
    attempt: "att_1",
  };
  expect(webhookSearch(full)).toEqual(full);
  const nonsense = {
    span: "toString",
    status: "lost",
    eventType: "",
    eventId: 7,
    from: "soon",
    to: [],
    page: -1,
    attempt: null,
  };
  expect(Object.values(webhookSearch(nonsense)).filter((value) => value !== undefined)).toEqual([]);
  expect(webhookSearch({ page: 1e9 }).page).toBeUndefined();
  expect(deadLettersSearch({ webhookId: "whk_1", reason: "HTTP 500" })).toEqual({
    webhookId: "whk_1",
    reason: "HTTP 500",
  });
  expect(deadLettersSearch({ webhookId: {}, reason: "" })).toEqual({});
});

test("the programs are those of docs/integrate.md, which are tested", () => {
  const page = readFileSync("../../docs/integrate.md", "utf8");
  for (const program of Object.values(snippets)) expect(page).toContain("\n" + program + "```");
});

test("the Go program listens on the webhook's path", () => {
  expect(receiverOf("go", "https://example.com/a/$&?x=1")).toContain('http.Handle("/a/$&", ');
  expect(receiverOf("go", "nowhere")).toContain('http.Handle("/", ');
  expect(receiverOf("node", webhook.url)).toBe(snippets.node);
});
