import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";

import { queries } from "@/api/queries";
import { type Customer, nameOf } from "@/domain/customers";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Failure } from "@/ui/page";
import { SearchField } from "@/ui/search";

type Props = { picked: string | undefined; onPick: (customer: Customer | undefined) => void; className?: string };

/** Searches for an existing customer. While none is picked, the form asks for the customer's details. */
export function CustomerPicker({ picked, onPick, className }: Props) {
  const [q, setQ] = useState("");
  const [customer, setCustomer] = useState<Customer>();
  const found = useQuery({ ...queries.customers.found(q), enabled: q.trim() !== "" });
  if (picked && customer?.id === picked) {
    return (
      <div className={cn("flex items-center gap-2 rounded-md border p-2 text-sm", className)}>
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{nameOf(customer)}</span>
          <span className="block truncate text-xs text-muted-foreground">
            {[customer.phone, customer.email].filter(Boolean).join(" · ")}
          </span>
        </span>
        <Button variant="ghost" size="icon" aria-label="Remove customer" onClick={() => onPick(undefined)}>
          <X />
        </Button>
      </div>
    );
  }
  return (
    <div className={className}>
      <SearchField label="Find a customer" value={q} onSearch={setQ} />
      <Failure error={found.error} className="mt-2" />
      {q && found.data?.length === 0 && (
        <p className="mt-2 text-xs text-muted-foreground">No matching customer. Enter the details below.</p>
      )}
      {q && found.data && found.data.length > 0 && (
        <ul className="mt-1 divide-y rounded-md border">
          {found.data.map((one) => (
            <li key={one.id}>
              <button
                type="button"
                className="w-full p-2 text-left text-sm hover:bg-muted"
                onClick={() => {
                  setCustomer(one);
                  setQ("");
                  onPick(one);
                }}
              >
                <span className="block truncate font-medium">{nameOf(one)}</span>
                <span className="block truncate text-xs text-muted-foreground">
                  {[one.phone, one.email].filter(Boolean).join(" · ")}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
