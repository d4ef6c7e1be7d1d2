import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, faultsIn, idempotencyKey } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { FormDialog } from "@/ui/dialog";
import { Checkbox, Field, TextField, Textarea } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { useCategories } from "./categories";
import { type Draft, changing, creating, draftOf, faultsOf } from "./draft";

type Product = components["schemas"]["Product"];

/** Adds a product, or changes one. */
export function ProductDialog({ product, onClose }: { product?: Product; onClose: () => void }) {
  const { stores, storeId, currency } = useSession();
  const categories = useCategories();
  const queries = useQueryClient();
  const toast = useToast();
  const [once] = useState(idempotencyKey);
  const views = stores.find((store) => store.storeId === storeId)?.storeViews ?? [];
  const [draft, setDraft] = useState<Draft>(() =>
    draftOf(product, [...new Set([currency, ...views.map((view) => view.currency)])], [...new Set(views.map((view) => view.locale))]),
  );
  const [tried, setTried] = useState(false);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const save = useMutation({
    mutationFn: () =>
      product
        ? data(
            api.PATCH("/products/{id}", {
              params: { path: { id: product.id }, header: { "If-Match": `"${product.version}"` } },
              body: changing(product, draft),
            }),
          )
        : data(api.POST("/products", { params: { header: { "Idempotency-Key": once } }, body: creating(draft) })),
    onSuccess: (saved) => {
      toast(product ? `${saved.name} is saved` : `${saved.name} is on the menu`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["products"] }),
  });
  const faults = faultsOf(draft);
  const refused = faultsIn(save.error);
  const wrong = (path: string) => (tried ? faults[path] : undefined) ?? refused(path);
  function submit() {
    setTried(true);
    if (Object.keys(faults).length === 0) save.mutate();
  }
  const text = (name: "name" | "category" | "sku" | "imageUrl" | "tax" | "stock") => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  return (
    <FormDialog
      wide
      onClose={onClose}
      title={product ? `Edit ${product.name}` : "Add a product"}
      doing={save}
      onSubmit={submit}
      deed={product ? "Save" : "Add"}
      className="sm:grid-cols-2"
    >
      <TextField label="Name" required maxLength={200} className="sm:col-span-2" {...text("name")} error={wrong("name")} />
      <Field label="Description" className="sm:col-span-2" error={wrong("description")}>
        {(ids) => <Textarea {...ids} maxLength={5000} value={draft.description} onChange={(event) => set({ description: event.target.value })} />}
      </Field>
      <TextField label="Category" maxLength={100} list="categories" {...text("category")} error={wrong("category")} />
      <datalist id="categories">
        {categories.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextField label="SKU" maxLength={100} hint="Your own number for it." {...text("sku")} error={wrong("sku")} />
      <fieldset className="grid grid-cols-2 gap-4 sm:col-span-2 sm:grid-cols-4">
        <legend className="mb-2 text-sm font-semibold">Prices</legend>
        {Object.keys(draft.prices).map((one) => (
          <TextField
            key={one}
            label={one}
            inputMode="decimal"
            required={one === draft.currency}
            placeholder={one === draft.currency ? undefined : "none"}
            value={draft.prices[one]}
            onChange={(event) => set({ prices: { ...draft.prices, [one]: event.target.value } })}
            error={wrong(`prices.${one}`) ?? (one === draft.currency ? refused("priceMinor") : undefined)}
          />
        ))}
      </fieldset>
      <TextField
        label="In stock"
        inputMode="numeric"
        placeholder="not counted"
        hint="Orders count it down; at 0 it is sold out."
        {...text("stock")}
        error={wrong("stockQuantity")}
      />
      <TextField label="Tax rate in %" inputMode="decimal" placeholder="the store's" {...text("tax")} error={wrong("taxRatePpm")} />
      <TextField label="Image" type="url" placeholder="https://" className="sm:col-span-2" {...text("imageUrl")} error={wrong("imageUrl")} />
      {Object.keys(draft.texts).length > 0 && (
        <fieldset className="grid gap-4 sm:col-span-2">
          <legend className="mb-2 text-sm font-semibold">In other languages</legend>
          {Object.entries(draft.texts).map(([locale, one]) => (
            <div key={locale} className="grid gap-4 sm:grid-cols-2">
              {(["name", "description"] as const).map((member) => (
                <TextField
                  key={member}
                  label={`${member === "name" ? "Name" : "Description"}, ${locale}`}
                  placeholder={member === "name" ? draft.name : draft.description}
                  value={one[member]}
                  onChange={(event) => set({ texts: { ...draft.texts, [locale]: { ...one, [member]: event.target.value } } })}
                  error={wrong(`translations.${locale}.${member}`)}
                />
              ))}
            </div>
          ))}
        </fieldset>
      )}
      <Checkbox label="Available: it can be ordered" checked={draft.isAvailable} onChange={(event) => set({ isAvailable: event.target.checked })} className="sm:col-span-2" />
    </FormDialog>
  );
}
