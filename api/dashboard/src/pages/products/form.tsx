import { ComandaError } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey, ifMatch } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { ownProduct } from "@/api/requests";
import { type Product, nameIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Dialog, DialogActions, FormDialog } from "@/ui/dialog";
import { Checkbox, Field, TextField, Textarea } from "@/ui/field";
import { useToast } from "@/ui/toast";

import { useCategories } from "./categories";
import { Conflict } from "./conflict";
import { CopyGroups } from "./copy-groups";
import { type Draft, changeRequest, createRequest, draftErrors, draftOf, shownTexts, textsChange } from "./draft";
import {
  type GroupDraft,
  type GroupErrors,
  type Views,
  errorsIn,
  groupErrors,
  groupsRequest,
  maxGroups,
  refusedGroups,
} from "./groups";
import { ImagePreview } from "./image";
import { type Difference, merge } from "./merge";
import { OptionGroups } from "./option-groups";

/** Returns the currencies and locales of the store's views, those of the default view first. */
function useViews(): Views {
  const { store, defaultView } = useSession();
  return useMemo(() => {
    const views = [defaultView, ...(store?.storeViews ?? [])];
    return {
      currencies: [...new Set(views.map((view) => view.currency))],
      locales: [...new Set(views.map((view) => view.locale))],
    };
  }, [store, defaultView]);
}

/** How often the form is saved again after changes that do not concern it, for example of the stock by orders. */
const maxRepeats = 5;

/** Thrown if another user has changed fields of the form. */
class Changed extends Error {
  constructor(
    readonly current: Product,
    readonly draft: Draft,
    readonly differences: Difference[],
  ) {
    super("changed by another user");
  }
}

const isStale = (error: unknown) => error instanceof ComandaError && error.code === "VERSION_MISMATCH";

/**
 * Saves a draft of a product. If the product has changed meanwhile in other fields of the form, it throws Changed with
 * the draft on top of the current product. Changes of the stock by orders do not interrupt it, unless the user has set
 * the stock.
 */
async function saveChange(product: Product, draft: Draft, views: Views): Promise<Product> {
  for (let repeats = 0; ; repeats++) {
    try {
      return await data(
        api.PATCH("/products/{id}", {
          params: { path: { id: product.id }, header: ifMatch(product) },
          body: changeRequest(product, draft, views),
        }),
      );
    } catch (error) {
      if (!isStale(error)) throw error;
      const current = await ownProduct(product.id);
      const merged = merge(product, current, draft, views);
      const harmless = merged.differences.every(({ label, yours }) => label === "In stock" && yours === undefined);
      if (!harmless || repeats === maxRepeats) throw new Changed(current, merged.draft, merged.differences);
      [product, draft] = [current, merged.draft];
    }
  }
}

/** Adds a product or, if one is given, changes it. */
export function ProductDialog({ product, onClose }: { product?: Product; onClose: () => void }) {
  const views = useViews();
  const categories = useCategories();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [initial] = useState<Draft>(() => draftOf(product, views));
  const [base, setBase] = useState(product); // the version to which the draft applies
  const [draft, setDraft] = useState(initial);
  const [differences, setDifferences] = useState<Difference[]>([]);
  const [refused, setRefused] = useState<GroupErrors>({});
  const [attempts, setAttempts] = useState(0); // to submit
  const [openGroup, setOpenGroup] = useState<string | null>(null);
  const [dialog, setDialog] = useState<"copy" | "discard" | null>(null);
  const dragging = useRef(false);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const setGroups = useCallback(
    (change: (groups: GroupDraft[]) => GroupDraft[]) =>
      setDraft((before) => ({ ...before, groups: change(before.groups) })),
    [],
  );
  const name = product && nameIn(product, views.locales[0]!);
  const save = useMutation({
    mutationFn: () =>
      base
        ? saveChange(base, draft, views)
        : data(
            api.POST("/products", {
              params: { header: { "Idempotency-Key": idempotencyKey } },
              body: createRequest(draft),
            }),
          ),
    onSuccess: (saved) => {
      toast(`${nameIn(saved, views.locales[0]!)} ${product ? "saved" : "added"}`);
      onClose();
    },
    onError: (error) => {
      if (error instanceof Changed) {
        setBase(error.current);
        setDraft(error.draft);
        setDifferences(error.differences);
        return;
      }
      setDifferences([]);
      const found = refusedGroups(error, draft.groups, draft.currency);
      setRefused(found);
      showFirst(found);
    },
    onSettled: () => invalidate("products"),
  });
  const errors = useMemo(() => draftErrors(draft), [draft]);
  const shownGroupErrors = useMemo(
    () => (attempts > 0 ? { ...refused, ...groupErrors(draft.groups, draft.currency) } : refused),
    [attempts, refused, draft.groups, draft.currency],
  );
  const serverError = fieldErrors(save.error);
  const fieldError = (path: string) => (attempts > 0 ? errors[path] : undefined) ?? serverError(path);

  /** Opens the first group with an error. */
  function showFirst(found: GroupErrors) {
    const wrong = draft.groups.filter((group) => errorsIn(found, group) > 0);
    if (wrong.length > 0 && !wrong.some(({ key }) => key === openGroup)) setOpenGroup(wrong[0]!.key);
    setAttempts((n) => n + 1);
  }
  // Moves the focus to the first invalid field, once it is rendered.
  useEffect(() => {
    if (attempts > 0) document.querySelector<HTMLElement>("[role=dialog] [aria-invalid]")?.focus();
  }, [attempts]);

  function submit() {
    setRefused({});
    if (Object.keys(errors).length === 0) save.mutate();
    else showFirst(errors);
  }
  const dirty = useMemo(() => requested(draft) !== requested(initial), [draft, initial]);
  function close() {
    if (dragging.current) return; // Escape cancels the drag
    if (dirty) setDialog("discard");
    else onClose();
  }
  const text = (name: "category" | "sku" | "imageUrl" | "tax" | "stock") => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  const texts = shownTexts(draft);
  const setTexts = (locale: string, change: Partial<typeof texts>) => set(textsChange(draft, locale, change));
  const others = ["", ...Object.keys(draft.texts)].filter((locale) => locale !== draft.shown);
  const shownPath = (member: string) => (draft.shown === "" ? member : `translations.${draft.shown}.${member}`);
  return (
    <>
      <FormDialog
        wide
        onClose={close}
        title={product ? `Edit ${name}` : "Add product"}
        mutation={{ isPending: save.isPending, error: save.error instanceof Changed ? null : save.error }}
        onSubmit={submit}
        submitLabel={product ? "Save" : "Add"}
        className="sm:grid-cols-2"
      >
        <TextField
          label="Name"
          {...limits.CreateProductRequest.name}
          className="sm:col-span-2"
          hint={
            views.locales.length > 1 && `As staff read it: in ${views.locales[0]!}, the language of the default view.`
          }
          value={texts.name}
          onChange={(event) => setTexts(draft.shown, { name: event.target.value })}
          error={fieldError(shownPath("name"))}
        />
        <Field label="Description" className="sm:col-span-2" error={fieldError(shownPath("description"))}>
          {(ids) => (
            <Textarea
              {...ids}
              {...limits.CreateProductRequest.description}
              value={texts.description}
              onChange={(event) => setTexts(draft.shown, { description: event.target.value })}
            />
          )}
        </Field>
        <TextField
          label="Category"
          {...limits.CreateProductRequest.category}
          list="categories"
          {...text("category")}
          error={fieldError("category")}
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
          {...text("sku")}
          error={fieldError("sku")}
        />
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
              error={fieldError(`prices.${one}`) ?? (one === draft.currency ? serverError("priceMinor") : undefined)}
            />
          ))}
        </fieldset>
        <TextField
          label="In stock"
          inputMode="numeric"
          placeholder="not tracked"
          hint="Each order reduces the stock. At 0, the product is sold out."
          {...text("stock")}
          error={fieldError("stockQuantity")}
        />
        <TextField
          label="Tax rate in %"
          inputMode="decimal"
          placeholder="store rate"
          {...text("tax")}
          error={fieldError("taxRatePpm")}
        />
        <TextField
          label="Image URL"
          type="url"
          {...limits.CreateProductRequest.imageUrl}
          placeholder="https://"
          className="sm:col-span-2"
          {...text("imageUrl")}
          error={fieldError("imageUrl")}
        />
        <div className="empty:hidden sm:col-span-2">
          <ImagePreview url={draft.imageUrl} />
        </div>
        {others.length > 0 && Object.keys(draft.texts).length > 0 && (
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
                    placeholder={texts[member]}
                    value={locale === "" ? draft[member] : draft.texts[locale]![member]}
                    onChange={(event) => setTexts(locale, { [member]: event.target.value })}
                    error={fieldError(locale === "" ? member : `translations.${locale}.${member}`)}
                  />
                ))}
              </div>
            ))}
          </fieldset>
        )}
        <OptionGroups
          groups={draft.groups}
          own={draft.currency}
          views={views}
          errors={shownGroupErrors}
          open={openGroup}
          onOpen={setOpenGroup}
          onChange={setGroups}
          onCopy={() => setDialog("copy")}
          onDragging={(next) => {
            dragging.current = next;
          }}
        />
        <Checkbox
          label="Available for orders"
          checked={draft.isAvailable}
          onChange={(event) => set({ isAvailable: event.target.checked })}
          className="sm:col-span-2"
        />
        {differences.length > 0 && (
          <Conflict
            differences={differences}
            onDiscard={() => {
              setDraft(draftOf(base, views));
              setDifferences([]);
            }}
          />
        )}
      </FormDialog>
      {dialog === "copy" && (
        <CopyGroups
          views={views}
          room={maxGroups - draft.groups.length}
          onCopy={(group) => {
            setGroups((groups) => [...groups, group]);
            setOpenGroup(group.key);
            setDialog(null);
          }}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === "discard" && (
        <Dialog explicit onClose={() => setDialog(null)} title="Discard your changes?">
          <DialogActions>
            <Button variant="outline" onClick={() => setDialog(null)}>
              Keep editing
            </Button>
            <Button variant="danger" onClick={onClose}>
              Discard
            </Button>
          </DialogActions>
        </Dialog>
      )}
    </>
  );
}

/** Returns the entries of a draft as text, for comparison. */
const requested = ({ groups, ...fields }: Draft) =>
  JSON.stringify([fields, groupsRequest(groups, fields.currency), groups.map(({ options }) => options.map(pricesOf))]);

const pricesOf = ({ prices, max }: GroupDraft["options"][number]) => [prices, max];
