import type { Order } from "@/domain/orders";
import { cn } from "@/ui/cn";
import { Money } from "@/ui/format";

type Props = { order: Order; className?: string };

/** What is to be collected from the guest beside a total, or to be returned. Nothing for an order without payments. */
export function Owed({ order, className }: Props) {
  const { outstandingMinor, refundableMinor, paymentStatus, currency } = order;
  if (refundableMinor > 0)
    return (
      <span className={cn("text-xs font-semibold text-danger", className)}>
        Return <Money minor={refundableMinor} currency={currency} />
      </span>
    );
  if (outstandingMinor > 0 && paymentStatus !== "UNPAID")
    return (
      <span className={cn("text-xs font-semibold text-warning", className)}>
        Collect <Money minor={outstandingMinor} currency={currency} />
      </span>
    );
  return null;
}

/** The payments and refunds of an order, and what is to be collected or returned. */
export function Settlement({ order }: { order: Order }) {
  const lines: [string, number, string?][] = [
    ["Paid so far", order.paidMinor],
    ["Refunded so far", -order.refundedMinor],
    ["To collect", order.outstandingMinor, "font-semibold text-warning"],
    ["To return", order.refundableMinor, "font-semibold text-danger"],
  ];
  const shown = lines.filter(([, minor]) => minor !== 0);
  if (shown.length === 0) return null;
  return (
    <dl aria-label="Payments and refunds" className="mt-2 grid gap-1 border-t pt-2 text-sm">
      {shown.map(([label, minor, className]) => (
        <div key={label} className={cn("flex justify-between gap-4", className)}>
          <dt>{label}</dt>
          <dd>
            <Money minor={minor} currency={order.currency} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
