import { ComandaError } from "@comanda/client";
import { beforeEach, expect, test } from "vitest";

import { errorMessage } from "./error-message";
import { setMessageClock } from "./readable";

beforeEach(() => setMessageClock({ locale: "en-US", timezone: "Europe/Berlin" }));

test.each([
  [
    new ComandaError({
      status: 409,
      code: "LAST_OWNER",
      message: "a store needs at least one OWNER; make another user OWNER first",
    }),
    /Make another user an owner first/,
  ],
  [
    new ComandaError({
      status: 409,
      code: "VERSION_MISMATCH",
      message: "the current version is 3; read the resource again and repeat the change",
    }),
    /Another user has changed this/,
  ],
  [
    new ComandaError({ status: 429, code: "RATE_LIMITED", message: "too many requests; wait", retryAfter: 7 }),
    /Wait 7 seconds/,
  ],
  [
    new ComandaError({ status: 500, code: "INTERNAL", message: "internal error; report the request id req_1" }),
    /The service could not process the request/,
  ],
  [
    new ComandaError({ status: 409, code: "CONFLICT", message: "ada@example.com is already a member" }),
    /^Ada@example.com is already a member\.$/,
  ],
  [
    new ComandaError({ status: 0, code: "UNREACHABLE", message: "the service cannot be reached" }),
    /Check your connection/,
  ],
  [new TypeError("x is undefined"), /An unexpected error/],
])("explains %s", (error, message) => expect(errorMessage(error)).toMatch(message));

test.each([
  [
    new ComandaError({
      status: 422,
      code: "OUTSIDE_BOOKING_WINDOW",
      message: "startAt must be between 2026-07-01T17:30:00.000Z and 2026-09-29T16:30:00.000Z",
    }),
    "This time cannot be booked. Choose a time between Jul 1, 2026, 7:30 PM and Sep 29, 2026, 6:30 PM.",
  ],
  [
    new ComandaError({
      status: 422,
      code: "OUTSIDE_BOOKING_WINDOW",
      message: "requestedFor is not possible: the store takes no orders for later",
    }),
    "This time cannot be booked. The store takes no orders for later.",
  ],
  [
    new ComandaError({
      status: 422,
      code: "STORE_CLOSED",
      message: "the store takes no orders for PICKUP now",
      details: [{ path: "nextOpenAt", message: "2026-12-01T10:00:00.000Z" }],
    }),
    "The store takes no orders for this time. It opens again on Dec 1, 2026, 11:00 AM.",
  ],
  [
    new ComandaError({ status: 409, code: "CONFLICT", message: "ordering is paused until 2026-07-01T17:30:00.000Z" }),
    "Ordering is paused until Jul 1, 2026, 7:30 PM.",
  ],
])("shows local times in %s", (error, message) => expect(errorMessage(error).replaceAll("\u202f", " ")).toBe(message));
