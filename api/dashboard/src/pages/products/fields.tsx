import * as limits from "@/api/limits";
import { Field, TextField, Textarea } from "@/ui/field";

import { useCategories } from "./categories";
import { shownTexts, textsChange } from "./draft";
import { ImagePreview } from "./image";
import type { ProductForm } from "./use-product-form";

type Props = { form: ProductForm };

/** Returns the properties of a field for a member of the draft. */
const textOf = (
  { draft, set, errorOf }: ProductForm,
  name: "category" | "sku" | "imageUrl" | "tax" | "stock",
  path: string = name,
) => ({
  value: draft[name],
  onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  error: errorOf(path),
});

/** The name and the description as staff read them. */
export function Texts({ form: { views, draft, set, errorOf } }: Props) {
  const texts = shownTexts(draft);
  const change = (next: Partial<typeof texts>) => set(textsChange(draft, draft.shown, next));
  const pathOf = (member: string) => (draft.shown === "" ? member : `translations.${draft.shown}.${member}`);
  return (
    <>
      <TextField
        label="Name"
        {...limits.CreateProductRequest.name}
        className="sm:col-span-2"
        hint={
          views.locales.length > 1 && `As staff read it: in ${views.locales[0]!}, the language of the default view.`
        }
        value={texts.name}
        onChange={(event) => change({ name: event.target.value })}
        error={errorOf(pathOf("name"))}
      />
      <Field label="Description" className="sm:col-span-2" error={errorOf(pathOf("description"))}>
        {(ids) => (
          <Textarea
            {...ids}
            {...limits.CreateProductRequest.description}
            value={texts.description}
            onChange={(event) => change({ description: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}

export function CategoryAndSku({ form }: Props) {
  const categories = useCategories();
  return (
    <>
      <TextField
        label="Category"
        {...limits.CreateProductRequest.category}
        list="categories"
        {...textOf(form, "category")}
      />
      <datalist id="categories">
        {categories.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <TextField
        label="SKU"
        {...limits.CreateProductRequest.sku}
        hint="Your own product number."
        {...textOf(form, "sku")}
      />
    </>
  );
}

/** A price in each currency of the store's views. */
export const Prices = ({ form: { draft, set, errorOf } }: Props) => (
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
        error={errorOf(`prices.${one}`) ?? (one === draft.currency ? errorOf("priceMinor") : undefined)}
      />
    ))}
  </fieldset>
);

export const StockAndTax = ({ form }: Props) => (
  <>
    <TextField
      label="In stock"
      inputMode="numeric"
      placeholder="not tracked"
      hint="Each order reduces the stock. At 0, the product is sold out."
      {...textOf(form, "stock", "stockQuantity")}
    />
    <TextField
      label="Tax rate in %"
      inputMode="decimal"
      placeholder="store rate"
      {...textOf(form, "tax", "taxRatePpm")}
    />
  </>
);

export const Image = ({ form }: Props) => (
  <>
    <TextField
      label="Image URL"
      type="url"
      {...limits.CreateProductRequest.imageUrl}
      placeholder="https://"
      className="sm:col-span-2"
      {...textOf(form, "imageUrl")}
    />
    <div className="empty:hidden sm:col-span-2">
      <ImagePreview url={form.draft.imageUrl} />
    </div>
  </>
);

/** The name and the description in each language except the one that staff read. */
export function Translations({ form: { draft, set, errorOf } }: Props) {
  const others = ["", ...Object.keys(draft.texts)].filter((locale) => locale !== draft.shown);
  if (others.length === 0 || Object.keys(draft.texts).length === 0) return null;
  const shown = shownTexts(draft);
  return (
    <fieldset className="grid gap-4 sm:col-span-2">
      <legend className="mb-2 text-sm font-semibold">Translations</legend>
      {others.map((locale) => (
        <div key={locale} className="grid gap-4 sm:grid-cols-2">
          {(["name", "description"] as const).map((member) => (
            <TextField
              key={member}
              label={`${member === "name" ? "Name" : "Description"}, ${locale || "other languages"}`}
              maxLength={limits.ProductTextRequest[member].maxLength}
              required={locale === "" && member === "name"}
              placeholder={shown[member]}
              value={locale === "" ? draft[member] : draft.texts[locale]![member]}
              onChange={(event) => set(textsChange(draft, locale, { [member]: event.target.value }))}
              error={errorOf(locale === "" ? member : `translations.${locale}.${member}`)}
            />
          ))}
        </div>
      ))}
    </fieldset>
  );
}
