// The API names members and writes times in UTC, for programs. People read the words of the dashboard and local times.

/** The locale and time zone of times in messages. */
export type Clock = { locale: string; timezone: string };

const { locale, timeZone: timezone } = Intl.DateTimeFormat().resolvedOptions();
let clock: Clock = { locale, timezone };

/** Sets the clock of messages: that of the active store, otherwise the browser's. */
export const setMessageClock = (next: Clock) => void (clock = next);

/** The words for members whose names alone would not be understood. */
const words: Record<string, string> = {
  startAt: "the time",
  requestedFor: "the requested time",
  promisedAt: "the promised time",
  soldOutUntil: "the end of being sold out",
  nextOpenAt: "the next opening",
  partySize: "the number of guests",
  amountMinor: "the amount",
  discountMinor: "the discount",
  priceMinor: "the price",
  expectedTotalMinor: "the total",
  taxRatePpm: "the tax rate",
  externalId: "the external reference",
  countryCode: "the country",
  storeViewId: "the view",
};

/** Matches the times of the API. */
export const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Returns a text of the API with its times, which are in UTC, in the time zone of the clock. */
export function withLocalTimes(text: string) {
  const { locale, timezone } = clock;
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone: timezone });
  return text.replace(instant, (at) => format.format(new Date(at)));
}

/** Matches names of members, but not parts of addresses such as johnSmith@example.com. */
const members = /(?<![\w@./-])[a-z]+(?:[A-Z][a-z0-9]*)+(?![\w@/-]|\.\w)/g;
const constants = /\b[A-Z]+(?:_[A-Z]+)+\b/g;

/** Returns the words for a member: durationMinutes becomes "duration minutes". */
const wordsOf = (name: string) => words[name] ?? name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Returns a message of the API with local times and without technical names. */
export const readable = (message: string) =>
  withLocalTimes(message)
    .replace(members, wordsOf)
    .replace(constants, (name) => name.replaceAll("_", " ").toLowerCase());

/** Returns the words for a path: items[0].quantity becomes "items 1, quantity". */
export const readablePath = (path: string) =>
  path
    .replace(/\[(\d+)\]/g, (_, index: string) => ` ${Number(index) + 1}`)
    .split(".")
    .map(wordsOf)
    .join(", ");
