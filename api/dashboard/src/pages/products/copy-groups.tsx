import { useState } from "react";

import { queries } from "@/api/queries";
import { nameIn } from "@/domain/products";
import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { ShowMore, useList } from "@/ui/list";
import { Empty, QueryState } from "@/ui/page";
import { SearchField } from "@/ui/search";

import { type GroupDraft, type Views, copyOf, groupDrafts, ruleOf, shownName } from "./groups";

type Props = {
  views: Views;
  /** The number of groups that the product can still take. */
  room: number;
  onCopy: (group: GroupDraft) => void;
  onClose: () => void;
};

/** Lists the option groups of the store's products and copies the chosen ones. */
export function CopyGroups({ views, room, onCopy, onClose }: Props) {
  const [q, setQuery] = useState("");
  const products = useList(queries.products.list({ q: q || undefined, limit: 100 }));
  const found = products.rows.filter(({ optionGroups }) => optionGroups.length > 0);
  return (
    <Dialog onClose={onClose} title="Copy a group" description="Later changes of a copy do not affect the original.">
      <SearchField label="Product" value={q} onSearch={setQuery} />
      <QueryState query={products} />
      {products.isSuccess && found.length === 0 && (
        <Empty title="No groups found">
          <p>Groups of the store's other products appear here.</p>
        </Empty>
      )}
      <ul className="grid gap-3">
        {found.map((product) => (
          <li key={product.id}>
            <h3 className="text-sm font-medium">{nameIn(product, views.locales[0]!)}</h3>
            <ul>
              {groupDrafts(product.optionGroups, product.currency, views).map((group) => (
                <li key={group.id} className="flex items-center justify-between gap-2 py-1 text-sm">
                  <span className="min-w-0">
                    {shownName(group)}
                    <span className="block truncate text-xs text-muted-foreground">
                      {ruleOf(group)} · {group.options.map(shownName).join(", ")}
                    </span>
                  </span>
                  <Button
                    variant="outline"
                    size="small"
                    disabled={room === 0}
                    aria-label={`Copy ${shownName(group)} of ${nameIn(product, views.locales[0]!)}`}
                    onClick={() => onCopy(copyOf(group))}
                  >
                    Copy
                  </Button>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      <ShowMore list={products} />
      <DialogActions>
        <Button onClick={onClose}>Done</Button>
      </DialogActions>
    </Dialog>
  );
}
