import type { components } from "@comanda/client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate, queries } from "@/api/queries";
import { AddStoreDialog } from "@/components/add-store-dialog";
import { CountryField } from "@/components/store-fields";
import type { NewStore, Store } from "@/domain/stores";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Form, TextField } from "@/ui/field";
import { inlineLink } from "@/ui/link";
import { Badge, Card, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast, useErrorToast } from "@/ui/toast";

import { SetupCard, useSetup } from "./setup-card";
import { Views } from "./views";

/** The active store and its views. */
export function StorePage() {
  const { storeName, atLeast } = useSession();
  const store = useQuery(queries.store);
  const setup = useSetup(true);
  const [adding, setAdding] = useState(false);
  return (
    <>
      <PageHeader
        title="Store"
        about={`The name, the country and the views of ${storeName}.`}
        actions={
          atLeast("OWNER") && (
            <Button onClick={() => setAdding(true)}>
              <Plus aria-hidden /> Add store
            </Button>
          )
        }
      />
      <QueryState query={store} />
      {store.data && (
        <div className="grid gap-5 [&>*]:min-w-0">
          {store.data.sandboxOf && (
            <p className="rounded-md border bg-muted p-3 text-sm">
              This store is a sandbox for test API keys. Its country and views are separate from those of the live
              store.
            </p>
          )}
          <SetupCard setup={setup} />
          {/* A new key shows the changes of others; a refetch without changes keeps the user's input. */}
          <Details key={`${store.data.storeName} ${store.data.countryCode}`} store={store.data} />
          <Views views={store.data.storeViews} />
        </div>
      )}
      {adding && <AddDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function Details({ store }: { store: Store }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const save = useMutation({
    mutationFn: (body: components["schemas"]["ChangeStoreRequest"]) => data(api.PATCH("/store", { body })),
    onSuccess: () => toast("Store saved"),
    onSettled: () => invalidate("store"),
  });
  const fieldError = fieldErrors(save.error);
  return (
    <Card title="Details">
      <Form
        className="sm:grid-cols-2"
        onSubmit={(form) =>
          save.mutate({ storeName: String(form.get("storeName")).trim(), countryCode: String(form.get("countryCode")) })
        }
      >
        <TextField
          label="Store name"
          name="storeName"
          required
          {...limits.ChangeStoreRequest.storeName}
          autoComplete="off"
          defaultValue={store.storeName}
          hint="Shown to your team and in emails to customers."
          error={fieldError("storeName")}
        />
        <CountryField defaultValue={store.countryCode} error={fieldError("countryCode")} />
        <dl className="grid gap-x-6 gap-y-3 text-sm sm:col-span-2 sm:grid-cols-2">
          <div className="min-w-0">
            <dt className="text-xs text-muted-foreground">Website</dt>
            <dd className="break-words">
              {store.websiteName} · {store.websiteDomain}
            </dd>
          </div>
          <div>
            <dt className="text-xs text-muted-foreground">Time zone</dt>
            <dd>
              {store.timezone} ·{" "}
              <Link to="/settings" className={inlineLink}>
                Change in the settings
              </Link>
            </dd>
          </div>
          <div className="min-w-0 sm:col-span-2">
            <dt className="text-xs text-muted-foreground">
              Store id{" "}
              {store.sandboxOf && (
                <Badge tone="warn" className="ml-1">
                  sandbox
                </Badge>
              )}
            </dt>
            <dd className="mt-1 flex flex-wrap items-center gap-3">
              <code className="text-xs break-all">{store.storeId}</code>
              <CopyButton text={store.storeId} label="Copy id" />
            </dd>
          </div>
        </dl>
        <div className="grid gap-3 sm:col-span-2">
          <Failure error={save.error} />
          <Button type="submit" className="justify-self-start" busy={save.isPending}>
            Save
          </Button>
        </div>
      </Form>
    </Card>
  );
}

/** Adds a store to the website, and offers to switch to it. */
function AddDialog({ onClose }: { onClose: () => void }) {
  const { switchStore } = useSession();
  const invalidate = useInvalidate();
  const showError = useErrorToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const add = useMutation({
    mutationFn: (body: NewStore) =>
      data(api.POST("/stores", { body, params: { header: { "Idempotency-Key": idempotencyKey } } })),
    onSuccess: () => invalidate("stores"),
  });
  const enter = useMutation({
    mutationFn: (store: Store) => switchStore(store.storeId),
    onSuccess: onClose,
    onError: showError,
  });
  if (!add.data) {
    return (
      <AddStoreDialog
        description={
          "A further store of the same website and plan, with its own menu, orders, team and webhooks. " +
          "You become its owner."
        }
        mutation={add}
        onClose={onClose}
      />
    );
  }
  const added = add.data;
  return (
    <Dialog
      onClose={onClose}
      title={`${added.storeName} added`}
      description="The store has no products and no other users yet. Switch to it to add them; the menu switches back."
    >
      <DialogActions>
        <Button variant="outline" onClick={onClose}>
          Stay here
        </Button>
        <Button busy={enter.isPending} onClick={() => enter.mutate(added)}>
          Switch to {added.storeName}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
