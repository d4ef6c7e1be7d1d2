import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import type { Webhook } from "./data";
import { healthOf } from "./health";
import { deadLettersSearch, webhookSearch } from "./search";
import { newSecret } from "./secret";
import { receiverOf, snippets } from "./snippets";

const webhook: Webhook = {
  id: "whk_1",
  url: "https://example.com/hook",
  events: ["order.created"],
  isActive: true,
  createdAt: "2026-03-14T12:00:00.000Z",
  updatedAt: "2026-03-14T12:00:00.000Z",
  lastDeliveryAt: null,
  failureCount: 0,
  failingDays: 0,
  version: 1,
};

test("health at a glance", () => {
  const at = "2026-03-14T12:00:00.000Z";
  const failing = { ...webhook, lastDeliveryAt: at, failureCount: 1234, failingSince: at };
  expect(healthOf(webhook, 7).label).toBe("nothing sent yet");
  expect(healthOf({ ...webhook, lastDeliveryAt: at }, 7)).toEqual({ tone: "good", label: "no failures" });
  expect(healthOf({ ...failing, failureCount: 1 }, 7)).toEqual({ tone: "warn", label: "failing", detail: "1 failure · watchdog day 1 of 7" });
  expect(healthOf({ ...failing, failingDays: 4 }, 7)).toMatchObject({ tone: "warn", detail: "1,234 failures in a row · watchdog day 5 of 7" });
  expect(healthOf({ ...failing, failingDays: 5 }, 7)).toMatchObject({ tone: "bad", detail: "1,234 failures in a row · watchdog day 6 of 7" });
  expect(healthOf({ ...failing, failingDays: 7 }, 7).detail).toMatch(/day 7 of 7$/);
  expect(healthOf({ ...failing, isActive: false }, 7)).toEqual({ tone: "neutral", label: "switched off", detail: "1,234 failures in a row" });
});

test("secrets are long, of the browser's randomness, and of characters that nothing has to escape", () => {
  const secrets = Array.from({ length: 100 }, newSecret);
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(new Set(secrets).size).toBe(100);
});

test("an address says what is shown, and what makes no sense in it is left out", () => {
  const full = { span: "7d", status: "failed", eventType: "order.created", eventId: "evt_1", from: "2026-03-14T12:00:00Z", to: "2026-03-14T13:00:00Z", page: 3, attempt: "att_1" };
  expect(webhookSearch(full)).toEqual(full);
  const nonsense = { span: "toString", status: "lost", eventType: "", eventId: 7, from: "soon", to: [], page: -1, attempt: null };
  expect(Object.values(webhookSearch(nonsense)).filter((value) => value !== undefined)).toEqual([]);
  expect(webhookSearch({ page: 1e9 }).page).toBeUndefined();
  expect(deadLettersSearch({ webhookId: "whk_1", reason: "HTTP 500" })).toEqual({ webhookId: "whk_1", reason: "HTTP 500" });
  expect(deadLettersSearch({ webhookId: {}, reason: "" })).toEqual({});
});

test("the programs that verify are those of the README, which are tested", () => {
  const readme = readFileSync("../../README.md", "utf8");
  for (const program of Object.values(snippets)) expect(readme).toContain("\n" + program + "```");
});

test("the program in Go takes what comes to this webhook's path", () => {
  expect(receiverOf("go", "https://example.com/a/$&?x=1")).toContain('http.Handle("/a/$&", ');
  expect(receiverOf("go", "nowhere")).toContain('http.Handle("/", ');
  expect(receiverOf("node", webhook.url)).toBe(snippets.node);
});
