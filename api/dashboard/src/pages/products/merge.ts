import type { Product } from "@/domain/products";

import { type Draft, draftOf, sameGroups } from "./draft";
import { type Views, shownName, withKnownIds } from "./groups";

/** A field that another user has changed: its former and current text and, if it is different, the user's own. */
export type Difference = { label: string; before: string; now: string; yours?: string };

/** The outcome of a merge: the user's entries on top of the current product. */
export type Merge = { draft: Draft; differences: Difference[] };

type Field = { label: string; get: (draft: Draft) => string; set: (draft: Draft, text: string) => Draft };

const plain: [string, "name" | "description" | "category" | "sku" | "imageUrl" | "tax" | "stock"][] = [
  ["Name", "name"],
  ["Description", "description"],
  ["Category", "category"],
  ["SKU", "sku"],
  ["Image URL", "imageUrl"],
  ["Tax rate in %", "tax"],
  ["In stock", "stock"],
];

/** Returns the fields of drafts, except the option groups. */
function fieldsOf(drafts: Draft[]): Field[] {
  const keysOf = (member: "prices" | "texts") => [...new Set(drafts.flatMap((draft) => Object.keys(draft[member])))];
  return [
    ...plain.map(([label, name]): Field => ({
      label,
      get: (draft) => draft[name],
      set: (draft, text) => ({ ...draft, [name]: text }),
    })),
    {
      label: "Available for orders",
      get: (draft) => (draft.isAvailable ? "yes" : "no"),
      set: (draft, text) => ({ ...draft, isAvailable: text === "yes" }),
    },
    ...keysOf("prices").map((currency): Field => ({
      label: `Price in ${currency}`,
      get: (draft) => draft.prices[currency] ?? "",
      set: (draft, text) => ({ ...draft, prices: { ...draft.prices, [currency]: text } }),
    })),
    ...keysOf("texts").flatMap((locale) =>
      (["name", "description"] as const).map((member): Field => ({
        label: `${member === "name" ? "Name" : "Description"}, ${locale}`,
        get: (draft) => draft.texts[locale]?.[member] ?? "",
        set: (draft, text) => ({
          ...draft,
          texts: {
            ...draft.texts,
            [locale]: { ...(draft.texts[locale] ?? { name: "", description: "" }), [member]: text },
          },
        }),
      })),
    ),
  ];
}

const groupsText = ({ groups }: Draft) =>
  groups.map((group) => `${shownName(group)} (${group.options.map(shownName).join(", ")})`).join("; ");

/**
 * Applies the changes that a draft makes to a product to the current version of this product. A field that the user has
 * not changed gets its current value. Option groups are one field.
 */
export function merge(product: Product, current: Product, mine: Draft, views: Views): Merge {
  const [before, now] = [draftOf(product, views), draftOf(current, views)];
  const differences: Difference[] = [];
  let draft: Draft = { ...now, shown: mine.shown };
  for (const { label, get, set } of fieldsOf([before, now, mine])) {
    const [was, is, entered] = [get(before), get(now), get(mine)];
    const changed = entered !== was;
    if (changed) draft = set(draft, entered);
    if (is !== was && is !== entered)
      differences.push({ label, before: was, now: is, yours: changed ? entered : undefined });
  }
  if (mine.shown !== "" && !draft.texts[mine.shown]) draft = { ...draft, shown: now.shown };
  const changed = !sameGroups(mine.groups, before.groups, product.currency);
  if (changed) draft = { ...draft, groups: withKnownIds(mine.groups, current) };
  if (!sameGroups(now.groups, before.groups, product.currency)) {
    const texts = { before: groupsText(before), now: groupsText(now) };
    differences.push({ label: "Options", ...texts, yours: changed ? groupsText(mine) : undefined });
  }
  return { draft, differences };
}
