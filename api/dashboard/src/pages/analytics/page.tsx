import type { components } from "@comanda/client";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { queries } from "@/api/queries";
import { RangeFields } from "@/components/range-fields";
import { fulfillments } from "@/domain/orders";
import { soldName } from "@/domain/products";
import { type Range, businessDay, rangeError } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Choice } from "@/ui/choice";
import { Select } from "@/ui/field";
import { Money } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { useNow } from "@/ui/now";
import { Card, Columns, Empty, Failure, Loading, PageHeader, QueryState, Table } from "@/ui/page";
import { Stat, Stats } from "@/ui/stat";

import { ChannelsExport, OptionsExport, ProductsExport, SalesExport } from "./export";
import { SalesPlots } from "./plots";
import { type Granularity, type Preset, bucketLabel, granularities, granularitiesOf, presets } from "./range";
import type { AnalyticsSearch } from "./search";

type Sales = components["schemas"]["Sales"];
type SalesBucket = components["schemas"]["SalesBucket"];

const route = getRouteApi("/inside/analytics");

/** Returns the search parameters of the page and a function that replaces them. */
function useAnalyticsSearch(): [AnalyticsSearch, (next: AnalyticsSearch) => void] {
  const navigate = useNavigate();
  return [route.useSearch(), (next) => void navigate({ to: "/analytics", search: next, replace: true })];
}

export function AnalyticsPage() {
  const settings = useQuery(queries.settings);
  const now = useNow(60_000);
  return (
    <>
      <PageHeader
        title="Analytics"
        about={
          <>
            Sales by business day in the store's time zone. Cancelled orders are counted separately. A refund counts on
            the day it is recorded.
          </>
        }
      />
      <QueryState query={settings} />
      {settings.data && (
        <Analytics today={businessDay(now, settings.data.timezone, settings.data.businessDayCutoffHour)} />
      )}
    </>
  );
}

function Analytics({ today }: { today: string }) {
  const [search] = useAnalyticsSearch();
  const range: Range =
    search.from && search.to ? { from: search.from, to: search.to } : presets[search.range ?? "7d"].range(today);
  const error = rangeError(range);
  return (
    <div className="grid gap-5">
      <RangePicker range={range} today={today} error={error} />
      {!error && <Period range={range} />}
    </div>
  );
}

function RangePicker({ range, today, error }: { range: Range; today: string; error?: string }) {
  const [search, show] = useAnalyticsSearch();
  const custom = Boolean(search.from && search.to);
  const choose = (next: Partial<Range>) => show({ currency: search.currency, ...range, ...next });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <label className="grid gap-1.5 text-sm font-medium">
        Period
        <Select
          className="w-40"
          value={custom ? "" : (search.range ?? "7d")}
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
          <option value="">Custom</option>
        </Select>
      </label>
      <RangeFields range={range} error={error} latest={today} choose={choose} />
    </div>
  );
}

function Period({ range }: { range: Range }) {
  const session = useSession();
  const [search, show] = useAnalyticsSearch();
  const { offered, preferred } = granularitiesOf(range);
  const by = search.by && offered.includes(search.by) ? search.by : preferred;
  const summary = useQuery(queries.analytics.summary(range));
  const plot = useQuery(queries.analytics.sales({ ...range, granularity: by }));
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
  if (!sales)
    return (
      <Empty title="No store views">
        <p>Sales appear here once this store has a view with a currency.</p>
      </Empty>
    );
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
        title="Sales over time"
        actions={
          <div className="flex flex-wrap gap-2">
            <Choice
              label="Granularity"
              size="small"
              value={by}
              options={
                Object.fromEntries(offered.map((one) => [one, granularities[one]])) as Record<Granularity, string>
              }
              onChange={(next) => show({ ...search, by: next })}
            />
            <SalesExport buckets={plot.data} range={range} by={by} />
          </div>
        }
      >
        <OverTime
          buckets={plot.data.filter((bucket) => bucket.currency === sales.currency)}
          sales={sales}
          by={by}
          days={range.from !== range.to}
        />
      </Card>
      <Channels range={range} />
      <Products range={range} />
      <Options range={range} />
      <Customers range={range} />
    </>
  );
}

function Summary({ sales }: { sales: Sales }) {
  const money = (minor: number) => <Money minor={minor} currency={sales.currency} />;
  return (
    <Stats label={`Summary, ${sales.currency}`}>
      <Stat
        label="Net sales"
        hint={
          <>
            {money(sales.grossMinor)} less {money(sales.discountMinor)} discount
          </>
        }
      >
        {money(sales.netMinor)}
      </Stat>
      <Stat label="Orders" hint={`plus ${sales.cancelledOrders} cancelled`}>
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

type OverTimeProps = { buckets: SalesBucket[]; sales: Sales; by: Granularity; days: boolean };

function OverTime({ buckets, sales, by, days }: OverTimeProps) {
  const { locale } = useSession();
  const rows = useMemo(
    () => buckets.map((bucket) => ({ ...bucket, label: bucketLabel(bucket.bucket, by, locale, false, days) })),
    [buckets, by, locale, days],
  );
  const busy = buckets.filter((bucket) => bucket.orders || bucket.cancelledOrders || bucket.refundedMinor);
  if (busy.length === 0) {
    return (
      <Empty title="No orders in this period">
        <p>Each order appears here on the business day it is placed.</p>
      </Empty>
    );
  }
  return (
    <div className="grid gap-4">
      <SalesPlots rows={rows} currency={sales.currency} />
      <Table label={`Sales over time, ${sales.currency}`}>
        <thead>
          <tr>
            <th scope="col">{by === "week" ? "Week of" : granularities[by].slice(0, -1)}</th>
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
          <SalesRow title="Total" sales={sales} />
        </tfoot>
      </Table>
      {busy.length < buckets.length && (
        <p className="text-xs text-muted-foreground">The table omits periods without sales.</p>
      )}
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

/** The sales by channel and fulfilment, also of a store that sells only on its own. */
function Channels({ range }: { range: Range }) {
  const channels = useQuery(queries.analytics.channels(range));
  const rows = channels.data;
  return (
    <Card title="Channels" actions={rows && rows.length > 0 && <ChannelsExport rows={rows} range={range} />}>
      <QueryState query={channels} />
      {rows?.length === 0 && (
        <p className="text-sm text-muted-foreground">No orders were placed or refunded in this period.</p>
      )}
      {rows && rows.length > 0 && (
        <Table label="Sales by channel" stacked>
          <Columns
            names={[
              "Channel",
              "Fulfilment",
              { right: "Orders" },
              { right: "Net sales" },
              { right: "Delivery" },
              { right: "Refunded" },
            ]}
          />
          <tbody>
            {rows.map((row) => (
              <tr key={[row.channel, row.fulfillmentType, row.currency].join()}>
                <td className="max-w-80 break-words">{row.channel ?? "Own orders"}</td>
                <td>{fulfillments[row.fulfillmentType]}</td>
                {channelColumns.map(([name, member]) => (
                  <td key={name} className="text-right tabular-nums">
                    <span className="sm:hidden">{name}: </span>
                    {member === "orders" ? row.orders : <Money minor={row[member]} currency={row.currency} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </Card>
  );
}

const channelColumns = [
  ["Orders", "orders"],
  ["Net sales", "netMinor"],
  ["Delivery", "deliveryFeeMinor"],
  ["Refunded", "refundedMinor"],
] as const;

function Products({ range }: { range: Range }) {
  const products = useList(queries.analytics.products(range));
  return (
    <Card title="Products" actions={products.rows.length > 0 && <ProductsExport range={range} />}>
      <QueryState query={products} />
      {products.isSuccess && products.rows.length === 0 && (
        <p className="text-sm text-muted-foreground">No products were sold in this period.</p>
      )}
      {products.rows.length > 0 && (
        <Table label="Products sold">
          <Columns names={["Product", { right: "Sold" }, { right: "Net sales" }]} />
          <tbody>
            {products.rows.map((product) => (
              <tr key={`${product.productId}${product.currency}`}>
                <td className="max-w-80 break-words">{soldName(product)}</td>
                <td className="text-right tabular-nums">{product.quantity}</td>
                <td className="text-right">
                  <Money minor={product.netMinor} currency={product.currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={products} />
    </Card>
  );
}

function Options({ range }: { range: Range }) {
  const options = useList(queries.analytics.options(range));
  const { defaultView } = useSession();
  const names = useQuery({ ...queries.products.names(defaultView.id), enabled: options.rows.length > 0 }).data;
  if (options.isSuccess && options.rows.length === 0) return null;
  return (
    <Card title="Options" actions={options.rows.length > 0 && <OptionsExport range={range} names={names} />}>
      <QueryState query={options} />
      {options.rows.length > 0 && (
        <Table label="Options sold" stacked>
          <Columns names={["Option", "Group", "Product", { right: "Sold" }, { right: "Net sales" }]} />
          <tbody>
            {options.rows.map((option) => (
              <tr key={option.productId + option.optionId + option.currency}>
                <td className="max-w-80 font-medium break-words">{option.name}</td>
                <td className="max-w-80 break-words">{option.groupName}</td>
                <td className="max-w-80 break-words">{names && (names.get(option.productId) ?? "deleted product")}</td>
                <td className="text-right tabular-nums">
                  {option.quantity}
                  <span className="sm:hidden"> sold</span>
                </td>
                <td className="text-right">
                  <Money minor={option.netMinor} currency={option.currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={options} />
    </Card>
  );
}

function Customers({ range }: { range: Range }) {
  const counts = useQuery(queries.analytics.customers(range));
  return (
    <section className="grid gap-3">
      <h2 className="font-semibold">Customers</h2>
      <QueryState query={counts} />
      {counts.data && (
        <Stats label="Customers">
          <Stat label="New customers" hint="registered or ordered as a guest for the first time">
            {counts.data.newCustomers}
          </Stat>
          <Stat label="Returning customers">{counts.data.returningCustomers}</Stat>
          <Stat label="Guest orders">{counts.data.guestOrders}</Stat>
          <Stat label="Registered customers' orders">{counts.data.registeredOrders}</Stat>
        </Stats>
      )}
    </section>
  );
}
