import type { ReactNode } from "react";

import { cn } from "@/ui/cn";
import { Money } from "@/ui/format";

type Amounts = {
  subtotalMinor: number;
  discountMinor: number;
  deliveryFeeMinor: number;
  taxMinor: number;
  taxIncluded: boolean;
  totalMinor: number;
  currency: string;
};

/** How an order's total comes about. */
export function Totals({ of }: { of: Amounts }) {
  const line = (label: ReactNode, minor: number, className?: string) => (
    <div className={cn("flex justify-between gap-4", className)}>
      <dt>{label}</dt>
      <dd>
        <Money minor={minor} currency={of.currency} />
      </dd>
    </div>
  );
  return (
    <dl className="grid gap-1 text-sm">
      {line("Subtotal", of.subtotalMinor)}
      {of.discountMinor > 0 && line("Discount", -of.discountMinor)}
      {of.deliveryFeeMinor > 0 && line("Delivery", of.deliveryFeeMinor)}
      {!of.taxIncluded && line("Tax", of.taxMinor)}
      {line("Total", of.totalMinor, "border-t pt-1 text-base font-semibold")}
      {of.taxIncluded && line("of which tax", of.taxMinor, "text-xs text-muted-foreground")}
    </dl>
  );
}
