import { expect, test } from "vitest";

import { ApiError } from "./client";
import { errorMessage } from "./error-message";

test.each([
  [
    new ApiError(409, "LAST_OWNER", "a store needs at least one OWNER; make another user OWNER first"),
    /Make another user an owner first/,
  ],
  [
    new ApiError(409, "VERSION_MISMATCH", "the current version is 3; read the resource again and repeat the change"),
    /Another user has changed this/,
  ],
  [new ApiError(429, "RATE_LIMITED", "too many requests; wait", undefined, [], 7), /Wait 7 seconds/],
  [
    new ApiError(500, "INTERNAL", "internal error; report the request id req_1"),
    /The service could not process the request/,
  ],
  [new ApiError(409, "CONFLICT", "ada@example.com is already a member"), /^Ada@example.com is already a member\.$/],
  [new ApiError(0, "UNREACHABLE", "The service cannot be reached."), /^The service cannot be reached\.$/],
  [new TypeError("x is undefined"), /An unexpected error/],
])("explains %s", (error, message) => expect(errorMessage(error)).toMatch(message));

test.each([
  [
    new ApiError(
      422,
      "OUTSIDE_BOOKING_WINDOW",
      "startAt must be between 2026-07-01T17:30:00.000Z and 2026-09-29T16:30:00.000Z",
    ),
    "This time cannot be booked. Choose a time between Jul 1, 2026, 7:30 PM and Sep 29, 2026, 6:30 PM.",
  ],
  [
    new ApiError(422, "OUTSIDE_BOOKING_WINDOW", "requestedFor is not possible: the store takes no orders for later"),
    "This time cannot be booked. The store takes no orders for later.",
  ],
  [
    new ApiError(422, "STORE_CLOSED", "the store takes no orders for PICKUP now", undefined, [
      { path: "nextOpenAt", message: "2026-12-01T10:00:00.000Z" },
    ]),
    "The store takes no orders for this time. It opens again on Dec 1, 2026, 11:00 AM.",
  ],
  [
    new ApiError(409, "CONFLICT", "ordering is paused until 2026-07-01T17:30:00.000Z"),
    "Ordering is paused until Jul 1, 2026, 7:30 PM.",
  ],
])("shows local times in %s", (error, message) =>
  expect(errorMessage(error, { locale: "en-US", timezone: "Europe/Berlin" }).replaceAll("\u202f", " ")).toBe(message),
);
