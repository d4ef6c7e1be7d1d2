import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";

import { api, data, newIdempotencyKey } from "@/api/client";
import { useInvalidate, queries } from "@/api/queries";
import { AddStoreDialog } from "@/components/add-store-dialog";
import { PlanUsage } from "@/components/plan-usage";
import type { NewStore } from "@/domain/stores";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Time } from "@/ui/format";
import { link } from "@/ui/link";
import { Badge, Card, Columns, PageHeader, QueryState, Table } from "@/ui/page";
import { useToast } from "@/ui/toast";

import type { WebsiteDetails } from "./types";
import { EditDialog, SocialDialog, SuspendDialog } from "./edit";
import { InviteOwnerDialog } from "./invite";
import { Owners } from "./owners";

const route = getRouteApi("/inside/platform/websites/$id");

const dialogs = {
  edit: EditDialog,
  social: SocialDialog,
  suspend: SuspendDialog,
  addStore: AddDialog,
  invite: InviteOwnerDialog,
};

/** A website of the platform with its stores and owners. */
export function WebsitePage() {
  const { id } = route.useParams();
  const website = useQuery(queries.websites.one(id));
  const [action, setAction] = useState<keyof typeof dialogs | null>(null);
  const Dialog = action && dialogs[action];
  const found = website.data;
  return (
    <>
      <Link to="/platform/websites" className={cn(link, "mb-2 inline-block text-sm")}>
        Websites
      </Link>
      <QueryState query={website} />
      {found && (
        <>
          <PageHeader
            title={
              <span className="flex flex-wrap items-center gap-2 break-words">
                {found.name}{" "}
                {found.suspendedAt ? <Badge tone="bad">suspended</Badge> : <Badge tone="good">active</Badge>}
              </span>
            }
            about={
              <>
                {found.domain} · opened <Time at={found.createdAt} />
                {found.suspendedAt && (
                  <span className="block">
                    Suspended since <Time at={found.suspendedAt} />
                  </span>
                )}
              </>
            }
            actions={
              <>
                <Button variant="outline" onClick={() => setAction("edit")}>
                  Edit
                </Button>
                <Button variant="outline" onClick={() => setAction("social")}>
                  Edit social login
                </Button>
                <Button variant={found.suspendedAt ? "outline" : "danger"} onClick={() => setAction("suspend")}>
                  {found.suspendedAt ? "Resume" : "Suspend"}
                </Button>
              </>
            }
          />
          <div className="grid gap-5 [&>*]:min-w-0">
            <PlanUsage usage={found.planUsage} />
            <Stores website={found} onAdd={() => setAction("addStore")} />
            <Owners website={found} onInvite={() => setAction("invite")} />
          </div>
          {Dialog && <Dialog website={found} onClose={() => setAction(null)} />}
        </>
      )}
    </>
  );
}

function Stores({ website, onAdd }: { website: WebsiteDetails; onAdd: () => void }) {
  return (
    <Card
      title="Stores"
      actions={
        <Button variant="outline" size="small" onClick={onAdd}>
          <Plus aria-hidden /> Add store
        </Button>
      }
    >
      <Table label="Stores" stacked>
        <Columns names={["Store", "Country", "Time zone", "Views"]} />
        <tbody>
          {website.stores.map((store) => (
            <tr key={store.storeId}>
              <td className="break-words">
                <span className="font-medium">{store.storeName}</span>{" "}
                {store.sandboxOf && <Badge tone="warn">sandbox</Badge>}
                <code className="block text-xs break-all text-muted-foreground">{store.storeId}</code>
              </td>
              <td>{store.countryCode}</td>
              <td>{store.timezone}</td>
              <td>{store.storeViews.map((view) => `${view.locale} · ${view.currency}`).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </Card>
  );
}

/** Adds a store without users to a website. */
function AddDialog({ website, onClose }: { website: WebsiteDetails; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const add = useMutation({
    mutationFn: (body: NewStore) =>
      data(
        api.POST("/platform/websites/{id}/stores", {
          params: { path: { id: website.id }, header: { "Idempotency-Key": idempotencyKey } },
          body,
        }),
      ),
    onSuccess: (store) => {
      toast(`${store.storeName} added`);
      onClose();
    },
    onSettled: () => invalidate("websites"),
  });
  return (
    <AddStoreDialog
      description={`A further store of ${website.name}. It has no users: invite an owner to it afterwards.`}
      mutation={add}
      onClose={onClose}
    />
  );
}
