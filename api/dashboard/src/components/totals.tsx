import { Fragment, type ReactNode } from "react";

import { formatRate } from "@/domain/percent";
import { useAccount } from "@/session/account";
import { cn } from "@/ui/cn";
import { Money } from "@/ui/format";

type Amounts = {
  subtotalMinor: number;
  discountMinor: number;
  loyaltyMinor: number;
  loyaltyPoints: number;
  deliveryFeeMinor: number;
  taxMinor: number;
  taxIncluded: boolean;
  totalMinor: number;
  currency: string;
  /** The taxes by rate, which add up to taxMinor. */
  taxes: { ratePpm: number; baseMinor: number; taxMinor: number }[];
};

/** The total of an order with its parts. */
export function Totals({ amounts }: { amounts: Amounts }) {
  const { locale } = useAccount();
  const line = (label: ReactNode, minor: number, className?: string) => (
    <div className={cn("flex justify-between gap-4", className)}>
      <dt>{label}</dt>
      <dd>
        <Money minor={minor} currency={amounts.currency} />
      </dd>
    </div>
  );
  const taxed = amounts.taxes.filter(({ ratePpm }) => ratePpm > 0);
  const taxes = (name: string, className?: string) =>
    taxed.length === 0
      ? line(name, amounts.taxMinor, className)
      : taxed.map(({ ratePpm, baseMinor, taxMinor }) => (
          <Fragment key={ratePpm}>
            {line(
              <>
                {name} {formatRate(ratePpm, locale)} on <Money minor={baseMinor} currency={amounts.currency} />
              </>,
              taxMinor,
              className,
            )}
          </Fragment>
        ));
  return (
    <dl className="grid gap-1 text-sm">
      {line("Subtotal", amounts.subtotalMinor)}
      {amounts.discountMinor > 0 && line("Discount", -amounts.discountMinor)}
      {amounts.loyaltyMinor > 0 && line(`${amounts.loyaltyPoints} points`, -amounts.loyaltyMinor)}
      {amounts.deliveryFeeMinor > 0 && line("Delivery", amounts.deliveryFeeMinor)}
      {!amounts.taxIncluded && taxes("Tax")}
      {line("Total", amounts.totalMinor, "border-t pt-1 text-base font-semibold")}
      {amounts.taxIncluded && taxes("Including tax", "text-xs text-muted-foreground")}
    </dl>
  );
}
