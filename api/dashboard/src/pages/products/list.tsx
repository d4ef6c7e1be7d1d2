import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { api, ifMatch } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { ownProduct } from "@/api/requests";
import { AvailabilityMenu } from "@/components/availability-menu";
import { type Product, nameIn, shownKey, priceIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Filter } from "@/ui/filter";
import { Money } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { useNow } from "@/ui/now";
import { Badge, Columns, Empty, QueryState, Table } from "@/ui/page";
import { SearchField } from "@/ui/search";
import { useToast, useErrorToast } from "@/ui/toast";

import { useCategories } from "./categories";
import type { ProductsSearch } from "./search";
import { StockDialog } from "./stock";

type Props = {
  filters: ProductsSearch;
  canEdit: boolean;
  canSellOut: boolean;
  create: ReactNode;
  onEdit: (product: Product) => void;
};

/** The products that match the filters, in the order of the menu. */
export function ProductList({ filters, canEdit, canSellOut, create, onEdit }: Props) {
  const {
    atLeast,
    currency,
    defaultView: { locale },
  } = useSession();
  const now = useNow(30_000);
  const navigate = useNavigate();
  const { q, category, available } = filters;
  const products = useList(
    queries.products.list({ q, category, orderable: available && available === "yes", limit: 50 }),
  );
  const [deleting, setDeleting] = useState<Product | null>(null);
  const [stocking, setStocking] = useState<Product | null>(null);
  const showError = useErrorToast();
  // The form starts from the current product, because the list may be minutes old.
  const edit = useMutation({
    mutationFn: ({ id }: Product) => ownProduct(id),
    onSuccess: onEdit,
    onError: showError,
  });
  const set = (change: ProductsSearch) =>
    void navigate({ to: "/products", search: { ...filters, ...change }, replace: true });
  const categories = Object.fromEntries(useCategories().map(({ name, products }) => [name, `${name} (${products})`]));
  if (filters.category && !(filters.category in categories)) categories[filters.category] = filters.category;
  const filtered = Boolean(q || category || available);
  return (
    <>
      <div className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-[2fr_1fr_1fr]">
        <SearchField
          className="col-span-2 sm:col-span-1"
          label="Name or SKU"
          value={filters.q ?? ""}
          onSearch={(q) => set({ q: q || undefined })}
        />
        <Filter
          label="Category"
          all="Any category"
          value={filters.category}
          options={categories}
          onChange={(category) => set({ category })}
        />
        <Filter
          label="Availability"
          all="Any availability"
          value={available}
          options={{ yes: "Can be ordered", no: "Sold out or unavailable" }}
          onChange={(next) => set({ available: next })}
        />
      </div>
      <QueryState query={products} className="mb-4" />
      {products.data && products.rows.length === 0 && (
        <Empty title={filtered ? "No products match these filters" : "No products yet"}>
          {!filtered && <p>Products appear here when you add them. Available products can be ordered immediately.</p>}
          {filtered ? (
            <Button variant="outline" onClick={() => void navigate({ to: "/products" })}>
              Clear filters
            </Button>
          ) : (
            create
          )}
        </Empty>
      )}
      {products.rows.length > 0 && (
        <Table label="Products" stacked>
          <Columns
            names={[
              "Product",
              "Category",
              { right: "Price" },
              { right: "In stock" },
              "Available",
              canEdit && { hidden: "Actions" },
            ]}
          />
          <tbody>
            {products.rows.map((product) => {
              const price = priceIn(product, currency);
              const name = nameIn(product, locale);
              return (
                <tr key={product.id} className="hover:bg-muted/50">
                  <td className="max-w-80 min-w-48">
                    <span className="block font-medium break-words">{name}</span>
                    <span className="line-clamp-1 text-xs text-muted-foreground">
                      {[product.sku, descriptionIn(product, locale)].filter(Boolean).join(" · ")}
                    </span>
                  </td>
                  <td>{product.category}</td>
                  <td className="text-right">
                    {price === undefined ? (
                      <Badge tone="warn">no {currency} price</Badge>
                    ) : (
                      <Money minor={price} currency={currency} />
                    )}
                  </td>
                  <td className="text-right tabular-nums">
                    <Stock product={product} name={name} onEdit={canEdit && (() => setStocking(product))} />
                  </td>
                  <td>
                    <AvailabilityMenu
                      product={product}
                      name={name}
                      now={now}
                      canEdit={canEdit}
                      canSellOut={canSellOut}
                    />
                  </td>
                  {canEdit && (
                    <td className="text-right whitespace-nowrap">
                      <Button
                        variant="ghost"
                        size="small"
                        aria-label={`Edit ${name}`}
                        onClick={() => edit.mutate(product)}
                      >
                        Edit
                      </Button>
                      {atLeast("ADMIN") && (
                        <Button
                          variant="ghost"
                          size="small"
                          className="text-danger"
                          aria-label={`Delete ${name}`}
                          onClick={() => setDeleting(product)}
                        >
                          Delete
                        </Button>
                      )}
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </Table>
      )}
      <ShowMore list={products} />
      {deleting && (
        <DeleteDialog
          product={products.rows.find(({ id }) => id === deleting.id) ?? deleting}
          name={nameIn(deleting, locale)}
          onClose={() => setDeleting(null)}
        />
      )}
      {stocking && <StockDialog product={stocking} name={nameIn(stocking, locale)} onClose={() => setStocking(null)} />}
    </>
  );
}

const descriptionIn = ({ description, translations }: Product, locale: string) =>
  translations[shownKey(translations, locale)]?.description ?? description;

/** The number of units in stock. For editors it is a button that changes it. */
function Stock({ product, name, onEdit }: { product: Product; name: string; onEdit: (() => void) | false }) {
  const { stockQuantity } = product;
  const text =
    stockQuantity === undefined ? (
      <span className="text-xs text-muted-foreground">
        <span className="sm:hidden">Stock </span>not tracked
      </span>
    ) : (
      <span className={stockQuantity === 0 ? "font-medium text-danger" : undefined}>
        {stockQuantity}
        <span className="sm:hidden"> in stock</span>
      </span>
    );
  if (!onEdit) return text;
  return (
    <Button
      variant="ghost"
      size="small"
      className="-mr-2 px-2 font-normal max-sm:mr-0 max-sm:-ml-2 max-sm:min-h-11"
      aria-label={`Stock of ${name}: ${stockQuantity ?? "not tracked"}`}
      onClick={onEdit}
    >
      {text}
    </Button>
  );
}

type DeleteProps = { product: Product; name: string; onClose: () => void };

/** Deletes the current version of a product: after a refusal because of a change, it shows and uses the new one. */
function DeleteDialog({ product, name, onClose }: DeleteProps) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () =>
      api.DELETE("/products/{id}", {
        params: { path: { id: product.id }, header: ifMatch(product) },
      }),
    onSuccess: () => {
      toast(`${name} deleted`);
      onClose();
    },
    onSettled: () => invalidate("products"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Delete ${name}?`}
      description={
        <>
          You cannot undo this. Existing orders keep the product's name and price. To hide the product temporarily, make
          it unavailable instead.
        </>
      }
      mutation={remove}
      onSubmit={() => remove.mutate()}
      submitLabel="Delete"
      cancelLabel="Keep"
    />
  );
}
