import { type paths, paginate } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";

import { api, collect } from "@/api/client";
import { unitsOf } from "@/domain/money";
import type { Order } from "@/domain/orders";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { csvOf, download, separatorIn } from "@/ui/csv";
import { useToast, useErrorToast } from "@/ui/toast";

type Query = paths["/orders"]["get"]["parameters"]["query"];

/** An export has at most this many orders. */
const maxExport = 10_000;

const columns: [string, (order: Order) => string | number | undefined][] = [
  ["number", (order) => order.orderId],
  ["status", (order) => order.status],
  ["placedAt", (order) => order.createdAt],
  ["businessDate", (order) => order.businessDate],
  ["customer", (order) => order.customer.name],
  ["fulfillment", (order) => order.fulfillmentType],
  ["source", (order) => order.source],
  ["channel", (order) => order.channel ?? undefined],
  ["currency", (order) => order.currency],
  ["subtotal", (order) => unitsOf(order.subtotalMinor, order.currency)],
  ["discount", (order) => unitsOf(order.discountMinor, order.currency)],
  ["points", (order) => unitsOf(order.loyaltyMinor, order.currency)],
  ["deliveryFee", (order) => unitsOf(order.deliveryFeeMinor, order.currency)],
  ["tax", (order) => unitsOf(order.taxMinor, order.currency)],
  ["total", (order) => unitsOf(order.totalMinor, order.currency)],
  ["paymentStatus", (order) => order.paymentStatus],
  ["paid", (order) => unitsOf(order.paidMinor, order.currency)],
  ["refunded", (order) => unitsOf(order.refundedMinor, order.currency)],
  ["outstanding", (order) => unitsOf(order.outstandingMinor, order.currency)],
  ["refundable", (order) => unitsOf(order.refundableMinor, order.currency)],
];

/** Saves the orders of a list as a CSV file. */
export function ExportOrders({ query }: { query: Query }) {
  const { locale } = useSession();
  const toast = useToast();
  const showError = useErrorToast();
  const run = useMutation({
    mutationFn: () => collect(paginate(api, "/orders", { params: { query } }), maxExport),
    onSuccess: (orders) => {
      const rows = orders.map((order) => columns.map(([, of]) => of(order)));
      download(
        `orders-${new Date().toISOString().slice(0, 10)}.csv`,
        csvOf(
          columns.map(([name]) => name),
          rows,
          separatorIn(locale),
        ),
      );
      toast(
        orders.length >= maxExport
          ? `Only the newest ${maxExport} orders were exported; restrict the list by a day`
          : `${orders.length} orders exported`,
      );
    },
    onError: showError,
  });
  return (
    <Button variant="outline" busy={run.isPending} onClick={() => run.mutate()}>
      <Download aria-hidden /> Export CSV
    </Button>
  );
}
