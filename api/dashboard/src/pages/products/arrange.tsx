import { ComandaError } from "@comanda/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { EllipsisVertical } from "lucide-react";
import { useRef, useState } from "react";

import { api, data, ifMatch } from "@/api/client";
import { errorMessage } from "@/api/error-message";
import { queries } from "@/api/queries";
import { menuOf, ownProduct } from "@/api/requests";
import { type Product, nameIn, priceIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Money } from "@/ui/format";
import { Menu, MenuItem } from "@/ui/menu";
import { Badge, Card, Empty, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { moved } from "./groups";
import { type Placed, planPositions } from "./positions";
import { Sortable, SortableEntry } from "./sortable";

/** More changes than this are one import, if all products have a SKU, instead of one request each. */
const maxRequests = 5;

/** Thrown if another user has moved one of the products. */
class OrderChanged extends Error {}

/** Sets the position of a product, unless another user has moved it meanwhile. Other changes do not matter. */
async function setPosition(product: Product, position: number): Promise<Product> {
  for (let current = product; ;) {
    try {
      return await data(
        api.PATCH("/products/{id}", {
          params: { path: { id: product.id }, header: ifMatch(current) },
          body: { position },
        }),
      );
    } catch (error) {
      if (!(error instanceof ComandaError) || error.code !== "VERSION_MISMATCH") throw error;
      current = await ownProduct(product.id);
      checkPlace(product, current);
    }
  }
}

/** Throws OrderChanged unless a product is where it was. */
function checkPlace(known: Product, current: Product | undefined) {
  if (current?.position !== known.position || current.category !== known.category) throw new OrderChanged();
}

/** Saves changes of positions within a category in few requests. It returns at least the changed products. */
async function savePositions(products: Map<string, Product>, changes: Placed[]): Promise<Product[]> {
  const known = changes.map(({ id }) => products.get(id)!);
  if (changes.length > maxRequests && known.every(({ sku }) => sku)) {
    const current = new Map((await menuOf(known[0]!.category || undefined)).map((product) => [product.id, product]));
    for (const product of known) checkPlace(product, current.get(product.id));
    await api.POST("/products/import", {
      body: changes.map(({ id, position }) => ({ sku: current.get(id)!.sku!, position })),
    });
    return menuOf(known[0]!.category || undefined); // an import returns no versions
  }
  const saved: Product[] = [];
  for (const [i, { position }] of changes.entries()) saved.push(await setPosition(known[i]!, position));
  return saved;
}

/** Changes the order of the menu within each category. Each move is saved immediately. */
export function ArrangeMenu({ category }: { category?: string }) {
  const menu = useQuery(queries.products.menu(category));
  return (
    <>
      <QueryState query={menu} />
      {menu.data?.length === 0 && <Empty title="No products yet" />}
      {menu.data && <Categories products={menu.data} category={category} />}
    </>
  );
}

function Categories({ products, category: only }: { products: Product[]; category?: string }) {
  const toast = useToast();
  const [order, setOrder] = useState(products);
  // The products as last read or saved. A move that was planned before a failure is skipped.
  const known = useRef(new Map(products.map((product) => [product.id, product])));
  const failures = useRef(0);
  const save = useMutation({
    scope: { id: "menu order" }, // one move after the other
    mutationFn: async ({ changes, planned }: { changes: Placed[]; planned: number }) =>
      planned === failures.current ? savePositions(known.current, changes) : null,
    onSuccess: (saved) => {
      for (const product of saved ?? []) known.current.set(product.id, product);
    },
    onError: async (error) => {
      failures.current++;
      toast(
        error instanceof OrderChanged
          ? "Another user has changed the order. Check the current order, then move the product again."
          : errorMessage(error),
        { error: true },
      );
      const current = await menuOf(only);
      known.current = new Map(current.map((product) => [product.id, product]));
      setOrder(current);
    },
  });
  const categories = [...new Set(order.map((product) => product.category))];
  function move(category: string, from: number, to: number) {
    const wanted = moved(
      order.filter((product) => product.category === category),
      from,
      to,
    );
    const changes = planPositions(wanted);
    const positions = new Map(changes.map(({ id, position }) => [id, position]));
    const placed = wanted.map((product) => ({ ...product, position: positions.get(product.id) ?? product.position }));
    setOrder(order.map((product) => (product.category === category ? placed.shift()! : product)));
    save.mutate({ changes, planned: failures.current });
  }
  return (
    <div className="grid gap-4">
      <p role="status" className="-mt-2 min-h-5 text-sm text-muted-foreground">
        {save.isPending ? "Saving the order…" : save.isSuccess && "The order is saved."}
      </p>
      {categories.map((category) => (
        <Category
          key={category}
          name={category || "Without a category"}
          products={order.filter((product) => product.category === category)}
          onMove={(from, to) => move(category, from, to)}
        />
      ))}
    </div>
  );
}

type CategoryProps = { name: string; products: Product[]; onMove: (from: number, to: number) => void };

function Category({ name, products, onMove }: CategoryProps) {
  const {
    currency,
    defaultView: { locale },
  } = useSession();
  const nameOf = (id: string) =>
    nameIn(
      products.find((product) => product.id === id)!,
      locale,
    );
  return (
    <Card title={name}>
      <Sortable ids={products.map(({ id }) => id)} nameOf={nameOf} onMove={onMove}>
        <ol aria-label={`Order of ${name}`}>
          {products.map((product, i) => {
            const price = priceIn(product, currency);
            return (
              <SortableEntry
                key={product.id}
                id={product.id}
                name={nameOf(product.id)}
                className="border-t bg-surface py-0.5 first:border-t-0"
              >
                {(handle) => (
                  <div className="flex items-center gap-2">
                    {handle}
                    <span className="min-w-0 flex-1 text-sm break-words">
                      {nameOf(product.id)}{" "}
                      {!product.orderable && (
                        <Badge tone="bad" className="ml-1">
                          not orderable
                        </Badge>
                      )}
                    </span>
                    {price !== undefined && (
                      <span className="text-sm">
                        <Money minor={price} currency={currency} />
                      </span>
                    )}
                    <Menu
                      label={`Move ${nameOf(product.id)}`}
                      trigger={
                        <Button variant="ghost" size="icon" aria-label={`Actions of ${nameOf(product.id)}`}>
                          <EllipsisVertical />
                        </Button>
                      }
                    >
                      <MenuItem disabled={i === 0} onSelect={() => onMove(i, 0)}>
                        Move to the top
                      </MenuItem>
                      <MenuItem disabled={i === 0} onSelect={() => onMove(i, i - 1)}>
                        Move up
                      </MenuItem>
                      <MenuItem disabled={i === products.length - 1} onSelect={() => onMove(i, i + 1)}>
                        Move down
                      </MenuItem>
                      <MenuItem disabled={i === products.length - 1} onSelect={() => onMove(i, products.length - 1)}>
                        Move to the end
                      </MenuItem>
                    </Menu>
                  </div>
                )}
              </SortableEntry>
            );
          })}
        </ol>
      </Sortable>
    </Card>
  );
}
