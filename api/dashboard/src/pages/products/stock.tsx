import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { Minus, Plus } from "lucide-react";
import { useState } from "react";

import { api, data, newIdempotencyKey, ifMatch } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { ownProduct } from "@/api/requests";
import type { Product } from "@/domain/products";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { useToast } from "@/ui/toast";

/** The largest stock, as in the API. */
const most = 1_000_000_000;

/** Parses a whole number with an optional sign. Returns null if the text is none. */
export function parseUnits(text: string): number | null {
  const trimmed = text.trim().replace("−", "-");
  return /^[+-]?\d{1,10}$/.test(trimmed) && Math.abs(Number(trimmed)) <= most ? Number(trimmed) : null;
}

/** Returns the stock text: "12", or "not tracked". */
const stockText = (stock: number | undefined) => (stock === undefined ? "not tracked" : String(stock));

type Props = {
  /** The product as listed; a newer version replaces it while the dialog is open. */
  product: Product;
  name: string;
  onClose: () => void;
};

/** Changes the stock of a product by a number of units, or sets it. */
export function StockDialog({ product, name, onClose }: Props) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const [mode, setMode] = useState<"adjust" | "set">(product.stockQuantity === undefined ? "set" : "adjust");
  const [text, setText] = useState("");
  // The number that the user sees. Setting the stock must not overwrite orders that have arrived since.
  const [seen, setSeen] = useState(product);
  const [key, setKey] = useState(newIdempotencyKey);
  const stock = seen.stockQuantity;
  const units = parseUnits(text);
  const wanted = mode === "set" ? (text.trim() ? units : undefined) : units === null ? null : (stock ?? 0) + units;
  const valid = wanted === undefined || (wanted !== null && wanted >= 0 && wanted <= most);
  const refresh = useMutation({
    mutationFn: () => ownProduct(product.id),
    onSuccess: setSeen,
  });
  const save = useMutation({
    mutationFn: () =>
      data(
        api.POST("/products/{id}/stock", {
          params: {
            path: { id: product.id },
            header: { "Idempotency-Key": key, ...(mode === "set" && ifMatch(seen)) },
          },
          body: mode === "set" ? { set: wanted ?? null } : { adjust: units! },
        }),
      ),
    onSuccess: (saved) => {
      toast(`Stock of ${name}: ${stockText(saved.stockQuantity)}`);
      onClose();
    },
    onError: (error) => {
      setKey(newIdempotencyKey());
      if (error instanceof ComandaError && error.status === 409) refresh.mutate();
    },
    onSettled: () => invalidate("products"),
  });
  const changed = save.error instanceof ComandaError && save.error.code === "VERSION_MISMATCH" && !refresh.isPending;
  const step = (by: number) => setText(String((units ?? 0) + by));
  return (
    <FormDialog
      onClose={onClose}
      title={`Stock of ${name}`}
      description={<>Now: {stockText(stock)}. Each order reduces the stock.</>}
      mutation={changed ? { isPending: save.isPending, error: null } : save}
      onSubmit={() => valid && save.mutate()}
      submitLabel="Save"
      disabled={!valid || (mode === "adjust" && !units)}
    >
      <div>
        <Choice
          label="Change of the stock"
          value={mode}
          options={{ adjust: "Add or remove", set: "Set" }}
          onChange={(next) => {
            setMode(next);
            setText("");
          }}
        />
      </div>
      {mode === "adjust" && stock === undefined ? (
        <p className="text-sm text-muted-foreground">The stock is not tracked. Set it first.</p>
      ) : (
        <div className="flex items-start gap-2">
          {mode === "adjust" && (
            <Button
              variant="outline"
              size="icon"
              className="mt-6.5 size-11"
              aria-label="One less"
              onClick={() => step(-1)}
            >
              <Minus />
            </Button>
          )}
          <TextField
            className="flex-1"
            label={mode === "adjust" ? "Units to add; negative to remove" : "Units in stock"}
            inputMode={mode === "adjust" ? "text" : "numeric"}
            placeholder={mode === "adjust" ? "0" : "not tracked"}
            value={text}
            onChange={(event) => setText(event.target.value)}
            error={
              valid || !text.trim()
                ? undefined
                : units === null
                  ? "Enter a whole number"
                  : "The stock cannot be below 0"
            }
            hint={
              mode === "set"
                ? "Leave the field empty to stop counting."
                : units
                  ? `New stock: ${String((stock ?? 0) + units)}`
                  : undefined
            }
          />
          {mode === "adjust" && (
            <Button
              variant="outline"
              size="icon"
              className="mt-6.5 size-11"
              aria-label="One more"
              onClick={() => step(1)}
            >
              <Plus />
            </Button>
          )}
        </div>
      )}
      {changed && (
        <p role="alert" className="rounded-md border border-danger/40 p-3 text-sm">
          The product has changed since you opened this dialog. The stock is now {stockText(stock)}. Save again to set
          it to your number.
        </p>
      )}
    </FormDialog>
  );
}
