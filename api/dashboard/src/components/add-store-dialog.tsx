import { useState } from "react";

import { fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import type { NewStore } from "@/domain/stores";
import { codeOf } from "@/domain/view-codes";
import { FormDialog } from "@/ui/dialog";
import { TextField } from "@/ui/field";

import { type ViewDraft, CountryField, TimezoneField, ViewsField } from "./store-fields";

type Props = {
  description: string;
  mutation: { isPending: boolean; error: unknown; mutate: (store: NewStore) => void };
  onClose: () => void;
};

/** The form of a further store. The first view is the default. */
export function AddStoreDialog({ description, mutation, onClose }: Props) {
  const [views, setViews] = useState<ViewDraft[]>([{ key: 0, locale: "", currency: "" }]);
  const fieldError = fieldErrors(mutation.error);
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name)).trim();
    mutation.mutate({
      storeName: text("storeName"),
      countryCode: text("countryCode"),
      timezone: text("timezone"),
      storeViews: views.map((view, index) => ({
        code: codeOf(
          view,
          views.filter((other) => other !== view),
        ),
        locale: view.locale.trim(),
        currency: view.currency.trim(),
        isDefault: index === 0,
      })),
    });
  }
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Add store"
      description={description}
      mutation={mutation}
      onSubmit={submit}
      submitLabel="Add store"
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Store name"
          name="storeName"
          {...limits.AddStoreRequest.storeName}
          autoComplete="off"
          error={fieldError("storeName")}
        />
        <CountryField error={fieldError("countryCode")} />
        <TimezoneField error={fieldError("timezone")} />
      </div>
      <ViewsField
        views={views}
        max={limits.AddStoreRequest.storeViews.maxItems}
        onChange={setViews}
        error={(index, member) =>
          fieldError(`storeViews[${index}].${member}`) ??
          (member === "locale" ? fieldError(`storeViews[${index}].code`) : undefined)
        }
      />
    </FormDialog>
  );
}
