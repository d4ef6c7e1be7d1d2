import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import type { Order } from "@/domain/orders";
import { useSession } from "@/session/session";

type Item = Order["items"][number];

type Props = {
  item: Item;
  /** The view in which the order was placed. Staff read its items in the texts of the default view. */
  viewId?: string;
};

/**
 * Returns the names of the menu for an order that was placed in another view than the default one. An order without
 * viewId keeps its own texts, which the customer reads.
 */
function useStaffNames(viewId: string | undefined) {
  const { id } = useSession().defaultView;
  const enabled = viewId !== undefined && id !== undefined && viewId !== id;
  return useQuery({ ...queries.products.names(id), enabled }).data;
}

/** The name of an item as staff read it on the menu. */
export function ItemName({ item, viewId }: Props) {
  return useStaffNames(viewId)?.get(item.productId ?? "") ?? item.productName;
}

/** The options of one unit of an item and its note, below its name. */
export function ItemDetails({ item, viewId }: Props) {
  const names = useStaffNames(viewId);
  return (
    <>
      {item.options.map((option) => (
        <span key={option.optionId} className="block text-[0.85em]">
          + {option.quantity > 1 && `${option.quantity}× `}
          {names?.get(option.optionId) ?? option.name}
        </span>
      ))}
      {item.note && <span className="block font-semibold italic">{item.note}</span>}
    </>
  );
}
