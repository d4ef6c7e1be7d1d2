import { Pencil } from "lucide-react";

import { optionsText } from "@/domain/orders";
import { type Product, priceIn } from "@/domain/products";
import { Button } from "@/ui/button";
import { Money } from "@/ui/format";

import { type Draft, type Line, isUnchanged, maxQuantity } from "./draft";
import { choicesText, unitPrice } from "./options";
import { Stepper } from "./stepper";

type Props = {
  draft: Draft;
  currency: string;
  products: Map<string, Product>;
  /** The errors of lines, by key. */
  errors: Map<number, string>;
  onChange: (line: Line) => void;
  onEdit: (line: Line) => void;
};

/** The lines of an order. */
export function Lines({ draft, currency, products, errors, onChange, onEdit }: Props) {
  if (draft.lines.length === 0) {
    return (
      <p className="rounded-md border border-dashed p-4 text-center text-sm text-muted-foreground">
        Select products from the menu.
      </p>
    );
  }
  return (
    <ul aria-label="Items" className="grid gap-3">
      {draft.lines.map((line) => {
        const product = products.get(line.productId);
        const kept = isUnchanged(line);
        const menuPrice = product && priceIn(product, currency);
        const unit = kept
          ? line.item!.unitPriceMinor
          : menuPrice !== undefined && unitPrice(product!, menuPrice, line.options, currency);
        const error = errors.get(line.key);
        const choices = kept ? optionsText(line.item!.options) : product && choicesText(product, line.options);
        return (
          <li key={line.key} className="grid gap-1 border-b pb-3 text-sm last:border-b-0 last:pb-0">
            <div className="flex items-start gap-2">
              <span className="min-w-0 flex-1 break-words">
                <span className="font-medium">{line.name}</span>
                {!line.productId && <span className="block text-xs text-muted-foreground">Not on the menu</span>}
                {choices && <span className="block text-xs text-muted-foreground">{choices}</span>}
                {line.note.trim() && <span className="block text-xs italic">{line.note}</span>}
              </span>
              {unit !== false && <Money minor={unit * line.quantity} currency={currency} />}
            </div>
            <div className="flex flex-wrap items-center justify-between gap-2">
              <Button
                variant="ghost"
                size="small"
                aria-label={`Edit ${line.name}`}
                disabled={!product && line.productId !== ""}
                onClick={() => onEdit(line)}
              >
                <Pencil aria-hidden /> {product && product.optionGroups.length > 0 ? "Options and note" : "Note"}
              </Button>
              <Stepper
                name={line.name}
                value={line.quantity}
                max={maxQuantity}
                onChange={(quantity) => onChange({ ...line, quantity })}
              />
            </div>
            {error && (
              <p role="alert" className="text-xs text-danger">
                {error}
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}
