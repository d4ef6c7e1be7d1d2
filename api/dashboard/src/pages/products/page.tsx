import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { Switch } from "radix-ui";
import { useState } from "react";

import { api, data } from "@/api/client";
import { wordsOf } from "@/api/words";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { Filter } from "@/ui/filter";
import { Money } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";
import { SearchField } from "@/ui/search";
import { useToast } from "@/ui/toast";

import { useCategories } from "./categories";
import { ProductDialog } from "./form";
import { priceIn } from "./price";
import type { ProductsSearch } from "./search";

type Product = components["schemas"]["Product"];

const route = getRouteApi("/inside/products");

export function ProductsPage() {
  const { atLeast, currency } = useSession();
  const filters = route.useSearch();
  const navigate = useNavigate();
  const { available, ...same } = filters;
  const products = useList<Product>(["products", "list", filters], (cursor) =>
    api.GET("/products", { params: { query: { ...same, isAvailable: available && available === "yes", cursor, limit: 50 } } }),
  );
  const [editing, setEditing] = useState<Product | "new" | null>(null);
  const [deleting, setDeleting] = useState<Product | null>(null);
  const toast = useToast();
  // The list has the texts and the price of the view; what is edited are the product's own.
  const edit = useMutation({
    mutationFn: ({ id }: Product) => data(api.GET("/products/{id}", { params: { path: { id }, query: { own: true } } })),
    onSuccess: setEditing,
    onError: (error) => toast(wordsOf(error), { bad: true }),
  });
  const set = (change: ProductsSearch) => void navigate({ to: "/products", search: { ...filters, ...change }, replace: true });
  const writes = atLeast("MANAGER");
  const categories = Object.fromEntries(useCategories().map(({ name, products }) => [name, `${name} (${products})`]));
  if (filters.category && !(filters.category in categories)) categories[filters.category] = filters.category;
  const filtered = Object.values(filters).some((value) => value !== undefined);
  const create = writes && (
    <Button onClick={() => setEditing("new")}>
      <Plus aria-hidden /> Add a product
    </Button>
  );
  return (
    <>
      <PageHeader title="Products" about={`The menu, with its prices in ${currency}.`} actions={create} />
      <div className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-[2fr_1fr_1fr]">
        <SearchField className="col-span-2 sm:col-span-1" label="Name or SKU" value={filters.q ?? ""} onSearch={(q) => set({ q: q || undefined })} />
        <Filter label="Category" all="Any category" value={filters.category} options={categories} onChange={(category) => set({ category })} />
        <Filter label="Availability" all="Available or not" value={available} options={{ yes: "Available", no: "Not available" }} onChange={(next) => set({ available: next })} />
      </div>
      <QueryState of={products} className="mb-4" />
      {products.data && products.rows.length === 0 && (
        <Empty title={filtered ? "No product fits" : "The menu is empty"}>
          {!filtered && <p>A product has a name and a price; whatever is on the menu can be ordered at once.</p>}
          {filtered ? (
            <Button variant="outline" onClick={() => void navigate({ to: "/products" })}>
              Show all
            </Button>
          ) : (
            create
          )}
        </Empty>
      )}
      {products.rows.length > 0 && (
        <Table label="Products">
          <Columns names={["Product", "Category", { right: "Price" }, { right: "In stock" }, "Available", writes && { hidden: "Actions" }]} />
          <tbody>
            {products.rows.map((product) => {
              const price = priceIn(product, currency);
              return (
                <tr key={product.id} className="hover:bg-muted/50">
                  <td className="max-w-80 min-w-48">
                    <span className="block font-medium break-words">{product.name}</span>
                    <span className="line-clamp-1 text-xs text-muted-foreground">{[product.sku, product.description].filter(Boolean).join(" · ")}</span>
                  </td>
                  <td>{product.category}</td>
                  <td className="text-right">{price === undefined ? <Badge tone="warn">not in {currency}</Badge> : <Money minor={price} currency={currency} />}</td>
                  <td className="text-right tabular-nums">
                    {product.stockQuantity === undefined ? (
                      <span className="text-xs text-muted-foreground">not counted</span>
                    ) : product.stockQuantity === 0 ? (
                      <Badge tone="bad">sold out</Badge>
                    ) : (
                      product.stockQuantity
                    )}
                  </td>
                  <td>
                    <Availability product={product} fixed={!writes} />
                  </td>
                  {writes && (
                    <td className="text-right whitespace-nowrap">
                      <Button variant="ghost" size="small" aria-label={`Edit ${product.name}`} onClick={() => edit.mutate(product)}>
                        Edit
                      </Button>
                      {atLeast("ADMIN") && (
                        <Button variant="ghost" size="small" className="text-danger" aria-label={`Delete ${product.name}`} onClick={() => setDeleting(product)}>
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
      <More list={products} />
      {editing && <ProductDialog product={editing === "new" ? undefined : editing} onClose={() => setEditing(null)} />}
      {deleting && <DeleteDialog product={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}

function Availability({ product, fixed }: { product: Product; fixed: boolean }) {
  const queries = useQueryClient();
  const toast = useToast();
  const change = useMutation({
    mutationFn: (isAvailable: boolean) => data(api.PATCH("/products/{id}", { params: { path: { id: product.id } }, body: { isAvailable } })),
    onSuccess: (changed) => toast(`${changed.name} is ${changed.isAvailable ? "available" : "not available"} now`),
    onError: (error) => toast(wordsOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["products"] }),
  });
  const on = change.isPending ? change.variables : product.isAvailable;
  if (fixed) return <Badge tone={on ? "good" : "neutral"}>{on ? "yes" : "no"}</Badge>;
  return (
    <Switch.Root
      aria-label={`${product.name} is available`}
      checked={on}
      disabled={change.isPending}
      onCheckedChange={(next) => change.mutate(next)}
      className="inline-flex h-6 w-10 items-center rounded-full border bg-muted p-0.5 data-[state=checked]:bg-primary"
    >
      <Switch.Thumb className="size-4.5 rounded-full border bg-surface transition-transform data-[state=checked]:translate-x-4" />
    </Switch.Root>
  );
}

function DeleteDialog({ product, onClose }: { product: Product; onClose: () => void }) {
  const queries = useQueryClient();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () => api.DELETE("/products/{id}", { params: { path: { id: product.id }, header: { "If-Match": `"${product.version}"` } } }),
    onSuccess: () => {
      toast(`${product.name} is off the menu`);
      onClose();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["products"] }),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Delete ${product.name}?`}
      description="It leaves the menu for good. Orders that have it keep its name and price. To take it off for a while, make it not available."
      doing={remove}
      onSubmit={() => remove.mutate()}
      deed="Delete"
      keep="Keep it"
    />
  );
}
