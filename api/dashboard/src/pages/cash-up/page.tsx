import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Download, Printer } from "lucide-react";

import { queries } from "@/api/queries";
import { RangeFields } from "@/components/range-fields";
import { unitsOf } from "@/domain/money";
import { originOf } from "@/domain/payments";
import { type Range, addDays, dayOf, rangeError } from "@/domain/zone";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { csvOf, download, separatorIn } from "@/ui/csv";
import { Money } from "@/ui/format";
import { useNow } from "@/ui/now";
import { Card, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import type { CashUpSearch } from "./search";
import { type PaymentSum, type Totals, balanceOf, byDay, totalsOf } from "./sums";

const route = getRouteApi("/inside/cash-up");

/** The payments of each business day by method and provider, to compare with the cash register and the terminals. */
export function CashUpPage() {
  const { timezone, storeName } = useSession();
  const search = route.useSearch();
  const today = dayOf(useNow(60_000), timezone);
  // Around midnight, the business day can be that of yesterday.
  const range = { from: search.from ?? search.to ?? addDays(today, -1), to: search.to ?? search.from ?? today };
  const error = rangeError(range);
  return (
    <>
      <PageHeader
        title="Cash-up"
        about={
          <>
            <span className="hidden print:inline">{storeName}. </span>
            Payments and refunds by business day, in the store's time zone. A refund counts on the day it is recorded.
          </>
        }
      />
      <Days range={range} today={today} error={error} />
      {!error && <Report range={range} />}
    </>
  );
}

function Days({ range, today, error }: { range: Range; today: string; error?: string }) {
  const navigate = useNavigate();
  const choose = (change: CashUpSearch) =>
    void navigate({ to: "/cash-up", search: { ...range, ...change }, replace: true });
  return (
    <div className="mb-4 flex flex-wrap items-end gap-3 print:hidden">
      <RangeFields range={range} error={error} latest={today} choose={choose} />
    </div>
  );
}

function Report({ range }: { range: Range }) {
  const { locale } = useSession();
  const sums = useQuery(queries.orders.paymentSums(range));
  const days = byDay(sums.data ?? []);
  return (
    <div className="grid gap-4">
      <QueryState query={sums} />
      {sums.data && days.length === 0 && (
        <Empty title="No payments in this period">
          <p>Payments and refunds appear here on the business day on which they are recorded.</p>
        </Empty>
      )}
      {sums.data && days.length > 0 && (
        <div className="flex flex-wrap gap-2 print:hidden">
          <Button variant="outline" onClick={() => window.print()}>
            <Printer aria-hidden /> Print
          </Button>
          <Button variant="outline" onClick={() => saveCSV(sums.data, range, locale)}>
            <Download aria-hidden /> Export CSV
          </Button>
        </div>
      )}
      {days.map(([day, rows]) => (
        <Day key={day} title={dayName(day, locale)} rows={rows} />
      ))}
      {days.length > 1 && <Day title="All days" rows={sums.data ?? []} totalsOnly />}
    </div>
  );
}

const dayName = (day: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" }).format(Date.parse(`${day}T00:00:00Z`));

/** The sums of a day, or only their totals. */
function Day({ title, rows, totalsOnly = false }: { title: string; rows: PaymentSum[]; totalsOnly?: boolean }) {
  return (
    <Card title={title} className="break-inside-avoid">
      <Table label={title} stacked>
        <Columns
          names={[
            "Method",
            { right: "Payments" },
            { right: "Amount" },
            { right: "Tips" },
            { right: "Refunds" },
            { right: "Refunded" },
            { right: "Balance" },
          ]}
        />
        {!totalsOnly && (
          <tbody>
            {rows.map((row) => (
              <tr key={[row.provider, row.paymentMethod, row.channel, row.currency].join()}>
                <td className="max-w-56 break-words">
                  {Object.values(originOf(row)).join(" · ")}
                  {row.channel && <span className="block text-xs text-muted-foreground">{row.channel}</span>}
                </td>
                <Figures totals={row} />
              </tr>
            ))}
          </tbody>
        )}
        <tfoot className="font-medium">
          {totalsOf(rows).map((totals) => (
            <tr key={totals.currency} data-total={totals.currency}>
              <td>Total {totals.currency}</td>
              <Figures totals={totals} />
            </tr>
          ))}
        </tfoot>
      </Table>
    </Card>
  );
}

/** The cells of a row. Narrow screens show the name of each figure beside it. */
function Figures({ totals }: { totals: Totals }) {
  const cells: [string, number, money?: true][] = [
    ["Payments", totals.payments],
    ["Amount", totals.paymentsMinor, true],
    ["Tips", totals.tipsMinor, true],
    ["Refunds", totals.refunds],
    ["Refunded", 0 - totals.refundsMinor, true],
    ["Balance", balanceOf(totals), true],
  ];
  return cells.map(([name, value, money]) => (
    <td key={name} className="text-right tabular-nums">
      <span className="sm:hidden print:hidden">{name}: </span>
      {money ? <Money minor={value} currency={totals.currency} /> : value}
    </td>
  ));
}

function saveCSV(sums: PaymentSum[], range: Range, locale: string) {
  const titles = [
    "businessDate",
    "provider",
    "paymentMethod",
    "channel",
    "currency",
    "payments",
    "paid",
    "tips",
    "refunds",
    "refunded",
  ];
  const rows = sums.map((sum) => [
    sum.businessDate,
    sum.provider,
    sum.paymentMethod,
    sum.channel,
    sum.currency,
    sum.payments,
    unitsOf(sum.paymentsMinor, sum.currency),
    unitsOf(sum.tipsMinor, sum.currency),
    sum.refunds,
    unitsOf(sum.refundsMinor, sum.currency),
  ]);
  download(`cash-up-${range.from}-${range.to}.csv`, csvOf(titles, rows, separatorIn(locale)));
}
