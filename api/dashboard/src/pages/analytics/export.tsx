import { type components, paginate } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";

import { api, collect } from "@/api/client";
import { unitsOf } from "@/domain/money";
import { type MenuNames, soldName } from "@/domain/products";
import type { Range } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { csvOf, download, separatorIn } from "@/ui/csv";
import { useErrorToast } from "@/ui/toast";

import type { Granularity } from "./range";

type SalesBucket = components["schemas"]["SalesBucket"];
type ProductSales = components["schemas"]["ProductSales"];
type ChannelSales = components["schemas"]["ChannelSales"];
type OptionSales = components["schemas"]["OptionSales"];

type Columns<T> = [string, (row: T) => string | number | undefined][];

const money =
  <Member extends string>(member: Member) =>
  (row: Record<Member, number> & { currency: string }) =>
    unitsOf(row[member], row.currency);

const figures: Columns<components["schemas"]["Sales"]> = [
  ["currency", (row) => row.currency],
  ["orders", (row) => row.orders],
  ["cancelled", (row) => row.cancelledOrders],
  ["items", (row) => row.itemsSold],
  ["gross", money("grossMinor")],
  ["discount", money("discountMinor")],
  ["net", money("netMinor")],
  ["tax", money("taxMinor")],
  ["deliveryFees", money("deliveryFeeMinor")],
  ["refunded", money("refundedMinor")],
];

const salesColumns: Columns<SalesBucket> = [["period", (row) => row.bucket], ...figures];

const channelColumns: Columns<ChannelSales> = [
  ["channel", (row) => row.channel ?? undefined],
  ["fulfillment", (row) => row.fulfillmentType],
  ...figures,
];

const productColumns: Columns<ProductSales> = [
  ["productId", (row) => row.productId ?? undefined],
  ["product", soldName],
  ["currency", (row) => row.currency],
  ["quantity", (row) => row.quantity],
  ["net", money("netMinor")],
];

const optionColumns = (names: MenuNames | undefined): Columns<OptionSales> => [
  ["productId", (row) => row.productId],
  ["product", (row) => names?.get(row.productId)],
  ["group", (row) => row.groupName],
  ["option", (row) => row.name],
  ["currency", (row) => row.currency],
  ["quantity", (row) => row.quantity],
  ["net", money("netMinor")],
];

type Props<T> = { name: string; range: Range; columns: Columns<T>; load: () => Promise<T[]> };

/** Saves the rows of a table as a file. Texts that a spreadsheet would run as formulas are marked. */
function Export<T>({ name, range, columns, load }: Props<T>) {
  const { locale } = useSession();
  const showError = useErrorToast();
  const run = useMutation({
    mutationFn: load,
    onSuccess: (rows) => {
      const cells = rows.map((row) => columns.map(([, of]) => of(row)));
      const titles = columns.map(([title]) => title);
      download(`${name}-${range.from}-${range.to}.csv`, csvOf(titles, cells, separatorIn(locale)));
    },
    onError: showError,
  });
  return (
    <Button
      variant="outline"
      size="small"
      busy={run.isPending}
      aria-label={`Export ${name} as CSV`}
      onClick={() => run.mutate()}
    >
      <Download aria-hidden /> Export CSV
    </Button>
  );
}

export const SalesExport = ({ buckets, range, by }: { buckets: SalesBucket[]; range: Range; by: Granularity }) => (
  <Export name={`sales-by-${by}`} range={range} columns={salesColumns} load={() => Promise.resolve(buckets)} />
);

export const ChannelsExport = ({ rows, range }: { rows: ChannelSales[]; range: Range }) => (
  <Export name="sales-by-channel" range={range} columns={channelColumns} load={() => Promise.resolve(rows)} />
);

export const ProductsExport = ({ range }: { range: Range }) => (
  <Export
    name="products-sold"
    range={range}
    columns={productColumns}
    load={() => collect(paginate(api, "/analytics/products", { params: { query: range } }))}
  />
);

export const OptionsExport = ({ range, names }: { range: Range; names: MenuNames | undefined }) => (
  <Export
    name="options-sold"
    range={range}
    columns={optionColumns(names)}
    load={() => collect(paginate(api, "/analytics/options", { params: { query: range } }))}
  />
);
