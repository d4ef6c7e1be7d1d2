import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";

import { queries } from "@/api/queries";
import { planName } from "@/domain/plans";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { ShowMore, useList } from "@/ui/list";
import { Badge, Columns, Empty, PageHeader, QueryState, Table } from "@/ui/page";

import { OpenDialog } from "./open";

/** The websites of the platform. */
export function WebsitesPage() {
  const websites = useList(queries.websites.list);
  const [opening, setOpening] = useState(false);
  const open = (
    <Button onClick={() => setOpening(true)}>
      <Plus aria-hidden /> Open website
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Websites"
        about="The customers of the platform. A website has one plan, one or more stores, and its own owners."
        actions={open}
      />
      <QueryState query={websites} />
      {websites.data && websites.rows.length === 0 && (
        <Empty title="No websites yet">
          <p>The websites appear here. The owner of a new website gets an invitation.</p>
          {open}
        </Empty>
      )}
      {websites.rows.length > 0 && (
        <Table label="Websites" stacked>
          <Columns names={["Website", "Plan", "Status", "Opened"]} />
          <tbody>
            {websites.rows.map((website) => (
              <tr key={website.id}>
                <td className="break-words">
                  <Link to="/platform/websites/$id" params={{ id: website.id }} className={cn(link, "font-medium")}>
                    {website.name}
                  </Link>
                  <span className="block text-xs text-muted-foreground">{website.domain}</span>
                </td>
                <td>{planName(website.plan)}</td>
                <td>{website.suspendedAt ? <Badge tone="bad">suspended</Badge> : <Badge tone="good">active</Badge>}</td>
                <td>
                  <span className="text-muted-foreground sm:hidden">Opened </span>
                  <Time at={website.createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShowMore list={websites} />
      {opening && <OpenDialog onClose={() => setOpening(false)} />}
    </>
  );
}
