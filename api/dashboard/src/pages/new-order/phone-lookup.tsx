import { type components, ComandaError } from "@comanda/client";
import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import { useState } from "react";

import { api, data } from "@/api/client";
import { queries } from "@/api/queries";
import { nameIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Failure } from "@/ui/page";
import { useToast } from "@/ui/toast";

import { type Draft, addressOf, newLine, withLine } from "./draft";

export type Found = components["schemas"]["FoundCustomer"];
type Items = NonNullable<Found["lastOrder"]>["items"];

/** Returns the newest customer with a phone number, or null if there is none. */
async function lookUp(phone: string): Promise<Found | null> {
  try {
    return await data(api.GET("/customers/lookup", { params: { query: { phone: phone.trim() } } }));
  } catch (error) {
    if (error instanceof ComandaError && error.status === 404) return null;
    throw error;
  }
}

/** Returns the draft with the details of a known customer. */
export const withCustomer = (draft: Draft, { id, lastAddress }: Found): Draft => ({
  ...draft,
  customerId: id,
  address: lastAddress ? addressOf(lastAddress) : draft.address,
});

/** Returns the items of an order whose products are still on the menu, with their names there. */
async function onMenu(client: QueryClient, items: Items, locale: string) {
  const read = items.map(async (item) => {
    if (!item.productId) return [];
    const product = await client.fetchQuery(queries.products.own(item.productId)).catch((error: unknown) => {
      if (error instanceof ComandaError && error.status === 404) return undefined;
      throw error;
    });
    return product ? [{ item, name: nameIn(product, locale) }] : [];
  });
  return (await Promise.all(read)).flat();
}

/** Returns the draft with items of an earlier order as new lines. */
export const withItems = (draft: Draft, items: { item: Items[number]; name: string }[]): Draft =>
  items.reduce((all, { item: { productId, quantity, options, note }, name }) => {
    if (productId === null) return all;
    const chosen = Object.fromEntries(options.map((option) => [option.optionId, option.quantity]));
    return withLine(all, { ...newLine(all, { id: productId, name }, chosen), quantity, note: note ?? "" });
  }, draft);

type Props = {
  draft: Draft;
  found: Found | undefined;
  onFound: (found: Found | undefined) => void;
  change: (apply: (draft: Draft) => Draft) => void;
};

/** Finds a customer by the entered phone number, and takes over the address and, on request, the last order. */
export function PhoneLookup({ draft, found, onFound, change }: Props) {
  const lookup = useMutation({
    mutationFn: lookUp,
    onSuccess: (customer) => {
      if (!customer) return;
      onFound(customer);
      change((before) => withCustomer(before, customer));
    },
  });
  if (found) {
    return <Known found={found} change={change} onRemove={() => onFound(undefined)} />;
  }
  return (
    <div className="sm:col-span-2">
      <Button
        variant="outline"
        busy={lookup.isPending}
        disabled={draft.phone.replace(/\D/g, "").length < 3}
        onClick={() => lookup.mutate(draft.phone)}
      >
        <Search aria-hidden /> Find by phone
      </Button>
      <Failure error={lookup.error} className="mt-2" />
      {lookup.data === null && lookup.variables === draft.phone && (
        <p role="status" className="mt-2 text-xs text-muted-foreground">
          No customer has this phone number. Enter the details.
        </p>
      )}
    </div>
  );
}

type KnownProps = Pick<Props, "change"> & { found: Found; onRemove: () => void };

/** A customer that was found, with the items of the last order. */
function Known({ found, change, onRemove }: KnownProps) {
  const client = useQueryClient();
  const toast = useToast();
  const { locale } = useSession().defaultView;
  const [added, setAdded] = useState(false);
  const { lastOrder } = found;
  const add = useMutation({
    mutationFn: (items: Items) => onMenu(client, items, locale),
    onSuccess: (items, wanted) => {
      setAdded(true);
      change((before) => withItems(before, items));
      const missing = wanted.length - items.length;
      if (missing > 0) toast(`${missing} of ${wanted.length} items are no longer on the menu`);
    },
  });
  return (
    <div className="grid gap-2 rounded-md border p-2 text-sm sm:col-span-2">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{found.name || found.phone}</span>
          <span className="block truncate text-xs text-muted-foreground">{found.phone}</span>
        </span>
        <Button
          variant="ghost"
          size="icon"
          aria-label="Remove customer"
          onClick={() => {
            onRemove();
            change((before) => ({ ...before, customerId: undefined }));
          }}
        >
          <X />
        </Button>
      </div>
      {lastOrder && (
        <div className="flex flex-wrap items-center gap-2">
          <span className="min-w-0 flex-1 text-xs break-words text-muted-foreground">
            Last order #{lastOrder.orderId}:{" "}
            {lastOrder.items.map((item) => `${item.quantity}× ${item.productName}`).join(", ")}
          </span>
          <Button
            variant="outline"
            size="small"
            busy={add.isPending}
            disabled={added}
            onClick={() => add.mutate(lastOrder.items)}
          >
            Add these items
          </Button>
        </div>
      )}
      <Failure error={add.error} />
    </div>
  );
}
