import { type FulfillmentType, type Order, fulfillments, sources } from "./orders";

type Source = Order["source"];

/** The conditions on orders that the controls of a filter can express. An empty list stands for all values. */
export type Conditions = {
  fulfillmentTypes: FulfillmentType[];
  sources: Source[];
  /** The least total of an order, in minor units of its currency. */
  minTotalMinor: number | null;
};

const noConditions: Conditions = { fulfillmentTypes: [], sources: [], minTotalMinor: null };

/** The members of an order's data with the condition that limits their values, and all their values. */
const lists = {
  fulfillmentType: { condition: "fulfillmentTypes", labels: fulfillments },
  source: { condition: "sources", labels: sources },
} as const;

type Listed = keyof typeof lists;

const oneOf = (member: Listed, values: string[]) => {
  const texts = values.map((value) => `"${value}"`);
  if (texts.length === 0) return [];
  return [texts.length === 1 ? `data.${member} == ${texts[0]}` : `data.${member} in [${texts.join(", ")}]`];
};

/**
 * Returns the CEL expression for conditions, or "" if there is none. conditionsOf is its inverse. Only events of orders
 * have the members that it names; all other events match.
 */
export function filterOf({ fulfillmentTypes, sources, minTotalMinor }: Conditions): string {
  const terms = [
    ...oneOf("fulfillmentType", fulfillmentTypes),
    ...oneOf("source", sources),
    ...(minTotalMinor === null ? [] : [`data.totalMinor >= ${minTotalMinor}`]),
  ];
  if (terms.length === 0) return "";
  const all = terms.join(" && ");
  return `!type.startsWith("order.") || ${terms.length === 1 ? all : `(${all})`}`;
}

const onlyOrders = /^!\s*type\.startsWith\(\s*(["'])order\.\1\s*\)\s*\|\|\s*/;
const inParentheses = /^\(([^()]*)\)$/;
const literal = /^\s*(["'])([A-Z_]+)\1\s*$/;

/**
 * Returns the conditions that a CEL expression stands for, or null if the controls cannot represent it. The exception
 * for other events may be missing: the filter then fails for them, so that they match too.
 */
export function conditionsOf(filter: string): Conditions | null {
  const trimmed = filter.trim();
  if (trimmed === "") return noConditions;
  const found: Partial<Conditions> = {};
  for (const term of trimmed.replace(onlyOrders, "").replace(inParentheses, "$1").split("&&")) {
    const condition = conditionOf(term.trim());
    if (!condition || Object.keys(condition).some((name) => name in found)) return null;
    Object.assign(found, condition);
  }
  return { ...noConditions, ...found };
}

function conditionOf(term: string): Partial<Conditions> | null {
  const total = /^data\.totalMinor\s*>=\s*(\d{1,15})$/.exec(term);
  if (total) return { minTotalMinor: Number(total[1]) };
  const list = /^data\.(fulfillmentType|source)\s*(?:==\s*([^[\]]+)|\bin\s*\[([^[\]]+)\])$/.exec(term);
  if (!list) return null;
  const { condition, labels } = lists[list[1] as Listed];
  const values = (list[2] === undefined ? list[3]!.split(",") : [list[2]]).map((text) => literal.exec(text)?.[2] ?? "");
  const known = values.every((value) => Object.hasOwn(labels, value)) && new Set(values).size === values.length;
  return known ? { [condition]: values } : null;
}
