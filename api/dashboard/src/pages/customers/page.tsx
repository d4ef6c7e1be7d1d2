import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { nameOf, kinds } from "@/domain/customers";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Filter } from "@/ui/filter";
import { Time } from "@/ui/format";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";
import { SearchField } from "@/ui/search";

import type { CustomersSearch } from "./search";

const route = getRouteApi("/inside/customers");

export function CustomersPage() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const customers = useList(queries.customers.list(filters));
  const set = (change: CustomersSearch) =>
    void navigate({ to: "/customers", search: { ...filters, ...change }, replace: true });
  const filtered = filters.q !== undefined || filters.kind !== undefined;
  return (
    <>
      <PageHeader title="Customers" about="Customers with an account in your shop, and guests who have ordered." />
      <div className="mb-4 grid gap-2 sm:grid-cols-[2fr_1fr]">
        <SearchField
          label="Name, email or phone"
          value={filters.q ?? ""}
          onSearch={(q) => set({ q: q || undefined })}
        />
        <Filter
          label="Kind"
          all="All customers"
          value={filters.kind}
          options={kinds}
          onChange={(kind) => set({ kind })}
        />
      </div>
      <QueryState query={customers} className="mb-4" />
      {customers.data && customers.rows.length === 0 && (
        <Empty title={filtered ? "No customers match these filters" : "No customers yet"}>
          {filtered ? (
            <Button variant="outline" onClick={() => void navigate({ to: "/customers" })}>
              Clear filters
            </Button>
          ) : (
            <p>Customers appear here when they order for the first time or register in your shop.</p>
          )}
        </Empty>
      )}
      {customers.rows.length > 0 && (
        <Table label="Customers" stacked>
          <Columns names={["Name", "Kind", "Phone", { right: "Orders" }, { right: "Points" }, "Since"]} />
          <tbody>
            {customers.rows.map((customer) => (
              <tr key={customer.id} className="hover:bg-muted/50">
                <td className="sm:max-w-48 lg:max-w-72">
                  <Link
                    to="/customers/$id"
                    params={{ id: customer.id }}
                    className={cn(
                      "block font-medium wrap-anywhere text-primary sm:truncate",
                      "underline-offset-4 hover:underline",
                    )}
                    title={nameOf(customer)}
                  >
                    {nameOf(customer)}
                  </Link>
                  <span
                    className="block text-xs wrap-anywhere text-muted-foreground sm:truncate"
                    title={customer.email || undefined}
                  >
                    {customer.email}
                  </span>
                </td>
                <td>
                  <span className="flex flex-wrap gap-1">
                    <Badge tone={customer.kind === "registered" ? "accent" : "neutral"}>{kinds[customer.kind]}</Badge>
                    {customer.disabled && <Badge tone="bad">disabled</Badge>}
                  </span>
                </td>
                <td className="whitespace-nowrap tabular-nums">{customer.phone}</td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Orders </span>
                  {customer.totalOrders}
                </td>
                <td className="text-right tabular-nums">
                  <span className="text-muted-foreground sm:hidden">Points </span>
                  {customer.loyaltyPoints}
                </td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Since </span>
                  <Time at={customer.createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={customers} />
    </>
  );
}
