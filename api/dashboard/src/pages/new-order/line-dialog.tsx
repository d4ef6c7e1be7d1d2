import { useId, useState } from "react";

import * as limits from "@/api/limits";
import { type Product, priceIn } from "@/domain/products";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Form, TextField } from "@/ui/field";
import { Money } from "@/ui/format";

import { type Line, isUnchanged, maxQuantity } from "./draft";
import {
  type Chosen,
  type Group,
  type Option,
  groupFault,
  optionFault,
  optionPrice,
  removedOptions,
  roomFor,
  ruleOf,
  unitPrice,
} from "./options";
import { Stepper } from "./stepper";

type Props = {
  /** The product of the line. A line without a product has no options. */
  product?: Product;
  line: Line;
  currency: string;
  /** Whether the line is not yet part of the order. */
  added: boolean;
  onSave: (line: Line) => void;
  onClose: () => void;
};

/** The options, the note and the quantity of one line of an order. */
export function LineDialog({ product, line: before, currency, added, onSave, onClose }: Props) {
  const [line, setLine] = useState(before);
  const [checked, setChecked] = useState(!added);
  const kept = isUnchanged(line); // what is ordered is not checked again
  const removed = kept || !product ? [] : removedOptions(product, line.options);
  const set = (change: Chosen) => setLine({ ...line, options: { ...line.options, ...change } });
  function submit() {
    setChecked(true);
    if (kept || !product || optionFault(product, line.options, currency) === undefined) onSave(line);
  }
  const unit = kept
    ? line.item!.unitPriceMinor
    : product
      ? unitPrice(product, priceIn(product, currency) ?? 0, line.options, currency)
      : 0;
  return (
    <Dialog
      onClose={onClose}
      title={product?.name ?? line.name}
      description={product?.description || undefined}
      explicit
    >
      <Form onSubmit={submit}>
        {removed.length > 0 && (
          <div
            role="alert"
            className="flex flex-wrap items-center gap-2 rounded-md border border-danger/40 p-3 text-sm"
          >
            <p className="flex-1">A chosen option is no longer on the menu.</p>
            <Button
              size="small"
              variant="outline"
              onClick={() => set(Object.fromEntries(removed.map((id) => [id, 0])))}
            >
              Remove it
            </Button>
          </div>
        )}
        {product?.optionGroups.map((group) => (
          <OptionGroup
            key={group.id}
            product={product}
            group={group}
            chosen={line.options}
            currency={currency}
            onChange={set}
            fault={checked && !kept ? groupFault(product, group, line.options, currency) : undefined}
          />
        ))}
        <TextField
          label="Note for the kitchen"
          {...limits.OrderItemRequest.note}
          placeholder="Well done"
          autoComplete="off"
          value={line.note}
          onChange={(event) => setLine({ ...line, note: event.target.value })}
        />
        <div className="flex items-center justify-between gap-2 text-sm">
          <Stepper
            name={product?.name ?? line.name}
            value={line.quantity}
            min={1}
            max={maxQuantity}
            onChange={(quantity) => setLine({ ...line, quantity })}
          />
          <span className="font-semibold">
            <Money minor={unit * line.quantity} currency={currency} />
          </span>
        </div>
        <DialogActions>
          <Button variant="outline" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit">{added ? "Add to order" : "Apply"}</Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}

type GroupProps = {
  product: Product;
  group: Group;
  chosen: Chosen;
  currency: string;
  onChange: (change: Chosen) => void;
  fault?: string;
};

/** The options of a group. A group for one selection has radio buttons. */
function OptionGroup({ product, group, chosen, currency, onChange, fault }: GroupProps) {
  const id = useId();
  const single = group.maxSelections === 1;
  /** Chooses one option instead of the others. */
  const only = (option?: Option) =>
    onChange(Object.fromEntries(group.options.map((one) => [one.id, one === option ? 1 : 0])));
  return (
    <fieldset
      aria-describedby={`${id}-rule`}
      aria-invalid={fault ? true : undefined}
      className={cn("rounded-md border px-3 pb-2", fault && "border-danger")}
    >
      <legend className="px-1 text-sm font-semibold">{group.name}</legend>
      <p id={`${id}-rule`} className={cn("text-xs", fault ? "text-danger" : "text-muted-foreground")}>
        {fault ?? ruleOf(group)}
      </p>
      <div className="mt-1 grid">
        {single && group.minSelections === 0 && (
          <label className="flex min-h-9 items-center gap-2 text-sm pointer-coarse:min-h-11">
            <input
              type="radio"
              name={id}
              className="size-4 accent-primary"
              checked={group.options.every((option) => !chosen[option.id])}
              onChange={() => only()}
            />
            None
          </label>
        )}
        {group.options.map((option) => (
          <OptionRow
            key={option.id}
            product={product}
            group={group}
            option={option}
            chosen={chosen}
            currency={currency}
            radio={single ? id : undefined}
            onChange={(quantity) => (single ? only(option) : onChange({ [option.id]: quantity }))}
          />
        ))}
      </div>
    </fieldset>
  );
}

type RowProps = {
  product: Product;
  group: Group;
  option: Option;
  chosen: Chosen;
  currency: string;
  /** The name of the radio buttons, in a group for one selection. */
  radio?: string;
  onChange: (quantity: number) => void;
};

function OptionRow({ product, group, option, chosen, currency, radio, onChange }: RowProps) {
  const price = optionPrice(product, option, currency);
  const quantity = chosen[option.id] ?? 0;
  const possible = option.isAvailable && price !== undefined;
  const room = possible ? roomFor(group, option, chosen) : 0;
  const amount =
    price === undefined ? (
      <span className="text-xs text-muted-foreground">no price in {currency}</span>
    ) : !option.isAvailable ? (
      <span className="text-xs text-muted-foreground">not available</span>
    ) : price > 0 ? (
      <span className="text-muted-foreground">
        + <Money minor={price} currency={currency} />
      </span>
    ) : null;
  const row = "flex min-h-9 items-center gap-2 text-sm pointer-coarse:min-h-11";
  if (!radio && Math.min(option.maxQuantity, group.maxSelections) > 1) {
    return (
      <div className={row}>
        <span className="min-w-0 flex-1 break-words">{option.name}</span>
        {amount}
        <Stepper name={option.name} value={quantity} max={Math.max(room, 0)} onChange={onChange} />
      </div>
    );
  }
  return (
    <label className={cn(row, !possible && "opacity-60")}>
      <input
        type={radio ? "radio" : "checkbox"}
        name={radio}
        className="size-4 shrink-0 accent-primary"
        checked={quantity > 0}
        disabled={quantity === 0 && (!possible || (!radio && room < 1))}
        onChange={(event) => onChange(event.target.checked ? 1 : 0)}
      />
      <span className="min-w-0 flex-1 break-words">{option.name}</span>
      {amount}
    </label>
  );
}
