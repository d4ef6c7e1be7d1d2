import { type FulfillmentType, type Order, fulfillments, sources } from "./orders";

type Source = Order["source"];

/** The conditions on orders that the controls of a filter can express. An empty list stands for all values. */
export type Conditions = {
  fulfillmentTypes: FulfillmentType[];
  sources: Source[];
  /** Sales channels; null stands for the store's own orders. */
  channels: (string | null)[];
  /** The least total of an order, in minor units of its currency. */
  minTotalMinor: number | null;
};

const noConditions: Conditions = { fulfillmentTypes: [], sources: [], channels: [], minTotalMinor: null };

type Value = string | null;

/** The members of an order's data with the condition that limits their values, and whether it can have a value. */
const lists = {
  "data.fulfillmentType": { condition: "fulfillmentTypes", has: (value: Value) => isKey(fulfillments, value) },
  "data.source": { condition: "sources", has: (value: Value) => isKey(sources, value) },
  "data.channel": { condition: "channels", has: (value: Value) => value === null || value.trim() !== "" },
} as const;

const isKey = (labels: object, value: Value) => value !== null && Object.hasOwn(labels, value);

/** Returns a text as a literal of CEL, of which JSON strings without surrogates are a part. */
const quote = (text: string) => JSON.stringify(text.replace(/\p{Surrogate}/gu, "\ufffd"));

const oneOf = (member: keyof typeof lists, values: Value[]) => {
  const texts = values.map((value) => (value === null ? "null" : quote(value)));
  if (texts.length === 0) return [];
  return [texts.length === 1 ? `${member} == ${texts[0]}` : `${member} in [${texts.join(", ")}]`];
};

/**
 * Returns the CEL expression for conditions, or "" if there is none. conditionsOf is its inverse. Only events of orders
 * have the members that it names; all other events match.
 */
export function filterOf({ fulfillmentTypes, sources, channels, minTotalMinor }: Conditions): string {
  const terms = [
    ...oneOf("data.fulfillmentType", fulfillmentTypes),
    ...oneOf("data.source", sources),
    ...oneOf("data.channel", channels),
    ...(minTotalMinor === null ? [] : [`data.totalMinor >= ${minTotalMinor}`]),
  ];
  if (terms.length === 0) return "";
  const all = terms.join(" && ");
  return `!type.startsWith("order.") || ${terms.length === 1 ? all : `(${all})`}`;
}

/**
 * Returns the conditions that a CEL expression stands for, or null if the controls cannot represent it. The exception
 * for other events may be missing: the filter then fails for them, so that they match too.
 */
export function conditionsOf(filter: string): Conditions | null {
  let tokens = tokensOf(filter);
  if (!tokens) return null;
  if (tokens.length === 0) return noConditions;
  if (onlyOrders.every((token, i) => tokens![i] === token)) tokens = tokens.slice(onlyOrders.length);
  if (tokens[0] === "(" && tokens.at(-1) === ")") tokens = tokens.slice(1, -1);
  const found: Partial<Conditions> = {};
  for (const term of split(tokens, "&&")) {
    const condition = conditionOf(term);
    if (!condition || Object.keys(condition).some((name) => name in found)) return null;
    Object.assign(found, condition);
  }
  return { ...noConditions, ...found };
}

const onlyOrders = ["!", "type.startsWith", "(", '"order."', ")", "||"];

/** A string, a name, a number, an operator or a bracket. */
const token = /\s*(?:("(?:[^"\\]|\\.)*")|'([^'"\\]*)'|([\w.]+|==|>=|&&|\|\||[!()[\],]))\s*/uy;

/** Returns the tokens of an expression, with double quotes, or null if it has other tokens than those of conditions. */
function tokensOf(expression: string): string[] | null {
  const tokens: string[] = [];
  token.lastIndex = 0;
  for (let at = 0; at < expression.trimEnd().length; at = token.lastIndex) {
    const match = token.exec(expression);
    if (!match) return null;
    tokens.push(match[2] === undefined ? (match[1] ?? match[3]!) : `"${match[2]}"`);
  }
  return tokens;
}

/** Returns the parts between the separators. */
function split(tokens: string[], separator: string): string[][] {
  const parts: string[][] = [[]];
  for (const one of tokens) {
    if (one === separator) parts.push([]);
    else parts.at(-1)!.push(one);
  }
  return parts;
}

function conditionOf([member, operator, ...operand]: string[]): Partial<Conditions> | null {
  if (member === "data.totalMinor" && operator === ">=" && operand.length === 1 && /^\d{1,15}$/.test(operand[0]!))
    return { minTotalMinor: Number(operand[0]) };
  if (member === undefined || !Object.hasOwn(lists, member)) return null;
  const { condition, has } = lists[member as keyof typeof lists];
  const texts = operator === "==" ? [operand] : operator === "in" ? elements(operand) : [];
  const values = texts.map((text) => (text.length === 1 ? valueOf(text[0]!) : undefined));
  const known = values.every((value) => value !== undefined && has(value)) && new Set(values).size === values.length;
  return known && values.length > 0 ? { [condition]: values } : null;
}

const elements = (list: string[]) => (list[0] === "[" && list.at(-1) === "]" ? split(list.slice(1, -1), ",") : []);

/** Returns the value of a literal, or undefined for all tokens that quote does not return. */
function valueOf(literal: string): Value | undefined {
  if (literal === "null") return null;
  if (!literal.startsWith('"')) return undefined;
  try {
    const value = JSON.parse(literal) as string;
    return quote(value) === literal ? value : undefined;
  } catch {
    return undefined;
  }
}
