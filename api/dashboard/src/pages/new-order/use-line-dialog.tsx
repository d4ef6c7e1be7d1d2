import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { queries } from "@/api/queries";
import type { Product } from "@/domain/products";

import { type Draft, type Line, newLine, withLine, withProduct } from "./draft";
import { LineDialog } from "./line-dialog";
import { initialChoices } from "./options";

type Form = {
  draft: Draft;
  setDraft: (change: (draft: Draft) => Draft) => void;
  products: ReadonlyMap<string, Product>;
};

/** Returns what adds products to the draft of an order and edits its lines. The dialog must be outside of the form. */
export function useLineDialog({ draft, setDraft, products }: Form, currency: string) {
  const client = useQueryClient();
  const [editing, setEditing] = useState<Line | null>(null);
  const productKey = (id: string) => queries.products.own(id).queryKey;

  function pick(product: Product) {
    client.setQueryData(productKey(product.id), product);
    if (product.optionGroups.length === 0) setDraft((before) => withProduct(before, product));
    else setEditing(newLine(draft, product, initialChoices(product, currency)));
  }
  const edited = editing && (products.get(editing.productId) ?? client.getQueryData(productKey(editing.productId)));
  const dialog = editing && (edited || editing.productId === "") && (
    <LineDialog
      product={edited || undefined}
      line={editing}
      currency={currency}
      added={!draft.lines.some((line) => line.key === editing.key)}
      onClose={() => setEditing(null)}
      onSave={(line) => {
        setDraft((before) => withLine(before, line));
        setEditing(null);
      }}
    />
  );
  return { pick, edit: setEditing, dialog };
}
