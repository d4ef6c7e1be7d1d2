import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { ViewFields } from "@/components/store-fields";
import type { StoreView } from "@/domain/stores";
import { codeOf } from "@/domain/view-codes";
import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";
import { Badge, Card, Columns, Table } from "@/ui/page";
import { useToast, useErrorToast } from "@/ui/toast";

const maxViews = limits.AddStoreRequest.storeViews.maxItems;

/** Returns the name of a locale in the language of the dashboard's view, for example "German (Austria)". */
function nameOf(locale: string, language: string) {
  try {
    return new Intl.DisplayNames(language, { type: "language" }).of(locale) ?? locale;
  } catch {
    return locale;
  }
}

/** The views of the active store. */
export function Views({ views }: { views: StoreView[] }) {
  const { locale } = useAccount();
  const invalidate = useInvalidate();
  const toast = useToast();
  const showError = useErrorToast();
  // The view to edit, or a new one.
  const [editing, setEditing] = useState<StoreView | "new" | null>(null);
  const [deleting, setDeleting] = useState<StoreView | null>(null);
  const makeDefault = useMutation({
    mutationFn: ({ id }: StoreView) =>
      data(api.PATCH("/store/views/{id}", { params: { path: { id } }, body: { isDefault: true } })),
    onSuccess: (view) => toast(`${view.locale} · ${view.currency} is now the default view`),
    onError: showError,
    onSettled: () => invalidate("store"),
  });
  return (
    <Card
      title="Views"
      actions={
        views.length < maxViews && (
          <Button variant="outline" size="small" onClick={() => setEditing("new")}>
            <Plus aria-hidden /> Add view
          </Button>
        )
      }
    >
      <p className="mb-3 max-w-prose text-sm text-muted-foreground">
        A view is a language and a currency in which this store sells. Orders and clients that name no view use the
        default view.
      </p>
      <Table label="Views" stacked>
        <Columns names={["Language", "Currency", "Code", { hidden: "Actions" }]} />
        <tbody>
          {views.map((view) => {
            const hidden = (
              <span className="sr-only">
                {" "}
                {view.locale} {view.currency}
              </span>
            );
            return (
              <tr key={view.id}>
                <td>
                  <span className="font-medium">{view.locale}</span>{" "}
                  {view.isDefault && <Badge tone="accent">default</Badge>}
                  <span className="block text-xs text-muted-foreground">{nameOf(view.locale, locale)}</span>
                </td>
                <td>{view.currency}</td>
                <td>
                  <code className="text-xs break-all">{view.code}</code>
                </td>
                <td>
                  <div className="flex flex-wrap gap-2 sm:justify-end">
                    {!view.isDefault && (
                      <Button
                        variant="outline"
                        size="small"
                        busy={makeDefault.isPending && makeDefault.variables.id === view.id}
                        onClick={() => makeDefault.mutate(view)}
                      >
                        Make default{hidden}
                      </Button>
                    )}
                    <Button variant="outline" size="small" onClick={() => setEditing(view)}>
                      Edit{hidden}
                    </Button>
                    {!view.isDefault && (
                      <Button variant="danger" size="small" onClick={() => setDeleting(view)}>
                        Delete{hidden}
                      </Button>
                    )}
                  </div>
                </td>
              </tr>
            );
          })}
        </tbody>
      </Table>
      {editing && (
        <ViewDialog view={editing === "new" ? undefined : editing} views={views} onClose={() => setEditing(null)} />
      )}
      {deleting && <DeleteDialog view={deleting} onClose={() => setDeleting(null)} />}
    </Card>
  );
}

type DialogProps = { view?: StoreView; views: StoreView[]; onClose: () => void };

/** Adds a view, or edits one. */
function ViewDialog({ view, views, onClose }: DialogProps) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [draft, setDraft] = useState({ locale: view?.locale ?? "", currency: view?.currency ?? "" });
  const [code, setCode] = useState(view?.code); // undefined: follows the locale
  const save = useMutation({
    mutationFn: (body: components["schemas"]["StoreViewRequest"]) =>
      data(
        view
          ? api.PATCH("/store/views/{id}", { params: { path: { id: view.id } }, body })
          : api.POST("/store/views", { params: { header: { "Idempotency-Key": idempotencyKey } }, body }),
      ),
    onSuccess: (saved) => {
      toast(view ? "View saved" : `View ${saved.locale} · ${saved.currency} added`);
      onClose();
    },
    onSettled: () => invalidate("store"),
  });
  const fieldError = fieldErrors(save.error);
  const shown = code ?? codeOf(draft, views);
  return (
    <FormDialog
      onClose={onClose}
      title={view ? `Edit view ${view.locale} · ${view.currency}` : "Add view"}
      description={
        view
          ? "Existing orders keep their language and currency."
          : "Products need a price in the currency of each view in which they are sold."
      }
      mutation={save}
      onSubmit={() => save.mutate({ code: shown, locale: draft.locale.trim(), currency: draft.currency.trim() })}
      submitLabel={view ? "Save" : "Add view"}
    >
      <ViewFields view={draft} onChange={(next) => setDraft({ ...draft, ...next })} error={fieldError} />
      <TextField
        label="Code"
        {...limits.StoreViewRequest.code}
        autoComplete="off"
        spellCheck={false}
        value={shown}
        onChange={(event) => setCode(event.target.value)}
        hint="Names the view in programs, such as de_de. Unique in the store."
        error={fieldError("code")}
      />
    </FormDialog>
  );
}

function DeleteDialog({ view, onClose }: { view: StoreView; onClose: () => void }) {
  const invalidate = useInvalidate();
  const toast = useToast();
  const remove = useMutation({
    mutationFn: () => api.DELETE("/store/views/{id}", { params: { path: { id: view.id } } }),
    onSuccess: () => {
      toast(`View ${view.locale} · ${view.currency} deleted`);
      onClose();
    },
    onSettled: () => invalidate("store"),
  });
  return (
    <FormDialog
      danger
      onClose={onClose}
      title={`Delete view ${view.locale} · ${view.currency}?`}
      mutation={remove}
      onSubmit={() => remove.mutate()}
      submitLabel="Delete view"
      cancelLabel="Keep view"
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        <li>New orders cannot name this view. Your shop must stop using its id.</li>
        <li>Existing orders, and the prices of products, do not change.</li>
        <li>Users who work in this view continue in the default view.</li>
      </ul>
    </FormDialog>
  );
}
