import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { api, data } from "@/api/client";
import type { components } from "@/api/schema";
import { useSession } from "@/session/session";
import { Choice } from "@/ui/choice";
import { Select, TextField } from "@/ui/field";
import { Money } from "@/ui/format";
import { More, useList } from "@/ui/more";
import { Card, Columns, Empty, Failure, Loading, PageHeader, QueryState, Table } from "@/ui/page";
import { Stat, Stats } from "@/ui/stat";
import { businessDay } from "@/ui/zone";

import { SalesPlots } from "./plots";
import { type Granularity, type Preset, type Range, bucketLabel, granularities, granularitiesOf, presets, rangeFault } from "./range";
import type { AnalyticsSearch } from "./search";

type Sales = components["schemas"]["Sales"];
type SalesBucket = components["schemas"]["SalesBucket"];
type ProductSales = components["schemas"]["ProductSales"];

const route = getRouteApi("/inside/analytics");

/** What the page's address says, and how to say something else. */
function useShown(): [AnalyticsSearch, (next: AnalyticsSearch) => void] {
  const navigate = useNavigate();
  return [route.useSearch(), (next) => void navigate({ to: "/analytics", search: next, replace: true })];
}

export function AnalyticsPage() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: () => data(api.GET("/settings")) });
  return (
    <>
      <PageHeader
        title="Analytics"
        about="What the store sells, by business day in its own time zone. Orders that were cancelled count as such and nowhere else; a refund counts on its own day."
      />
      <QueryState of={settings} />
      {settings.data && <Analytics today={businessDay(Date.now(), settings.data.timezone, settings.data.businessDayCutoffHour)} />}
    </>
  );
}

function Analytics({ today }: { today: string }) {
  const [search] = useShown();
  const range: Range = search.from && search.to ? { from: search.from, to: search.to } : presets[search.range ?? "7d"].range(today);
  const fault = rangeFault(range);
  return (
    <div className="grid gap-5">
      <RangePicker range={range} today={today} fault={fault} />
      {!fault && <Period range={range} />}
    </div>
  );
}

function RangePicker({ range, today, fault }: { range: Range; today: string; fault?: string }) {
  const [search, show] = useShown();
  const own = Boolean(search.from && search.to);
  const choose = (next: Partial<Range>) => show({ currency: search.currency, ...range, ...next });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <label className="grid gap-1.5 text-sm font-medium">
        Period
        <Select
          className="w-40"
          value={own ? "" : (search.range ?? "7d")}
          onChange={(event) => {
            const preset = event.target.value;
            if (preset === "") return choose({});
            show({ currency: search.currency, range: preset as Preset });
          }}
        >
          {Object.entries(presets).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
          <option value="">Days of choice</option>
        </Select>
      </label>
      <TextField label="First day" type="date" required value={range.from} max={today} onChange={(event) => event.target.value && choose({ from: event.target.value })} />
      <TextField label="Last day" type="date" required value={range.to} onChange={(event) => event.target.value && choose({ to: event.target.value })} />
      {fault && (
        <p role="alert" className="text-sm text-danger sm:pb-2">
          {fault}
        </p>
      )}
    </div>
  );
}

function Period({ range }: { range: Range }) {
  const session = useSession();
  const [search, show] = useShown();
  const { offered, usual } = granularitiesOf(range);
  const by = search.by && offered.includes(search.by) ? search.by : usual;
  const summary = useQuery({
    queryKey: ["analytics", "summary", range],
    queryFn: () => data(api.GET("/analytics/summary", { params: { query: range } })),
  });
  const plot = useQuery({
    queryKey: ["analytics", "sales", range, by],
    queryFn: () => data(api.GET("/analytics/sales", { params: { query: { ...range, granularity: by } } })),
  });
  if (summary.error || plot.error) {
    return (
      <Failure
        error={summary.error ?? plot.error}
        retry={() => {
          void summary.refetch();
          void plot.refetch();
        }}
      />
    );
  }
  if (!summary.data || !plot.data) return <Loading />;
  const currencies = summary.data.map((sales) => sales.currency);
  const currency = [search.currency, session.currency].find((one) => one && currencies.includes(one)) ?? currencies[0];
  const sales = summary.data.find((one) => one.currency === currency);
  if (!sales) return <Empty title="This store sells in no currency yet" />;
  return (
    <>
      {currencies.length > 1 && (
        <div>
          <Choice
            label="Currency"
            value={sales.currency}
            options={Object.fromEntries(currencies.map((one) => [one, one]))}
            onChange={(next) => show({ ...search, currency: next })}
          />
        </div>
      )}
      <Summary sales={sales} />
      <Card
        title="Over time"
        actions={
          <Choice
            label="Granularity"
            value={by}
            options={Object.fromEntries(offered.map((one) => [one, granularities[one]])) as Record<Granularity, string>}
            onChange={(next) => show({ ...search, by: next })}
          />
        }
      >
        <OverTime buckets={plot.data.filter((bucket) => bucket.currency === sales.currency)} sales={sales} by={by} />
      </Card>
      <Products range={range} />
      <Customers range={range} />
    </>
  );
}

function Summary({ sales }: { sales: Sales }) {
  const money = (minor: number) => <Money minor={minor} currency={sales.currency} />;
  return (
    <Stats label={`Summary, ${sales.currency}`}>
      <Stat label="Net sales" hint={<>{money(sales.grossMinor)} less {money(sales.discountMinor)} discount</>}>
        {money(sales.netMinor)}
      </Stat>
      <Stat label="Orders" hint={`and ${sales.cancelledOrders} cancelled`}>
        {sales.orders}
      </Stat>
      <Stat label="Average order">{money(sales.averageOrderMinor)}</Stat>
      <Stat label="Items sold">{sales.itemsSold}</Stat>
      <Stat label="Tax">{money(sales.taxMinor)}</Stat>
      <Stat label="Delivery fees">{money(sales.deliveryFeeMinor)}</Stat>
      <Stat label="Refunded">{money(sales.refundedMinor)}</Stat>
    </Stats>
  );
}

function OverTime({ buckets, sales, by }: { buckets: SalesBucket[]; sales: Sales; by: Granularity }) {
  const { locale } = useSession();
  const rows = useMemo(() => buckets.map((bucket) => ({ ...bucket, label: bucketLabel(bucket.bucket, by, locale, false) })), [buckets, by, locale]);
  const busy = buckets.filter((bucket) => bucket.orders || bucket.cancelledOrders || bucket.refundedMinor);
  if (busy.length === 0) {
    return (
      <Empty title="Nothing was ordered in this period">
        <p>As soon as the first order is placed, it is counted here, on the business day on which it was placed.</p>
      </Empty>
    );
  }
  return (
    <div className="grid gap-4">
      <SalesPlots rows={rows} currency={sales.currency} />
      <Table label={`Sales over time, ${sales.currency}`}>
        <thead>
          <tr>
            <th scope="col">{by === "week" ? "Week from" : granularities[by].slice(0, -1)}</th>
            {columns.map(([name]) => (
              <th key={name} scope="col" className="text-right">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {busy.map((bucket) => (
            <SalesRow key={bucket.bucket} title={bucketLabel(bucket.bucket, by, locale, true)} sales={bucket} />
          ))}
        </tbody>
        <tfoot className="font-medium">
          <SalesRow title="All" sales={sales} />
        </tfoot>
      </Table>
      {busy.length < buckets.length && <p className="text-xs text-muted-foreground">What had no sales is left out of the table.</p>}
    </div>
  );
}

type Column = { [K in keyof Sales]: Sales[K] extends number ? K : never }[keyof Sales];

const columns: [string, Column][] = [
  ["Orders", "orders"],
  ["Cancelled", "cancelledOrders"],
  ["Items", "itemsSold"],
  ["Gross", "grossMinor"],
  ["Discount", "discountMinor"],
  ["Net", "netMinor"],
  ["Tax", "taxMinor"],
  ["Delivery", "deliveryFeeMinor"],
  ["Refunded", "refundedMinor"],
];

const SalesRow = ({ title, sales }: { title: string; sales: Sales }) => (
  <tr>
    <th scope="row" className="border-t">
      {title}
    </th>
    {columns.map(([name, member]) => (
      <td key={name} className="text-right tabular-nums" data-column={member}>
        {member.endsWith("Minor") ? <Money minor={sales[member]} currency={sales.currency} /> : sales[member]}
      </td>
    ))}
  </tr>
);

function Products({ range }: { range: Range }) {
  const products = useList<ProductSales>(["analytics", "products", range], (cursor) =>
    api.GET("/analytics/products", { params: { query: { ...range, cursor, limit: 20 } } }),
  );
  return (
    <Card title="Products">
      <QueryState of={products} />
      {products.isSuccess && products.rows.length === 0 && <p className="text-sm text-muted-foreground">No product was sold in this period.</p>}
      {products.rows.length > 0 && (
        <Table label="Products sold">
          <Columns names={["Product", { right: "Sold" }, { right: "Net sales" }]} />
          <tbody>
            {products.rows.map((product) => (
              <tr key={product.productId + product.currency}>
                <td className="max-w-80 break-words">{product.productName}</td>
                <td className="text-right tabular-nums">{product.quantity}</td>
                <td className="text-right">
                  <Money minor={product.netMinor} currency={product.currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <More list={products} />
    </Card>
  );
}

function Customers({ range }: { range: Range }) {
  const counts = useQuery({
    queryKey: ["analytics", "customers", range],
    queryFn: () => data(api.GET("/analytics/customers", { params: { query: range } })),
  });
  return (
    <section className="grid gap-3">
      <h2 className="font-semibold">Customers</h2>
      <QueryState of={counts} />
      {counts.data && (
        <Stats label="Customers">
          <Stat label="New customers" hint="registered, or ordered as a guest for the first time">
            {counts.data.newCustomers}
          </Stat>
          <Stat label="Returning customers">{counts.data.returningCustomers}</Stat>
          <Stat label="Orders of guests">{counts.data.guestOrders}</Stat>
          <Stat label="Orders of registered customers">{counts.data.registeredOrders}</Stat>
        </Stats>
      )}
    </section>
  );
}
