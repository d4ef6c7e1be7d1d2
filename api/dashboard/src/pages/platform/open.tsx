import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { InvitationDialog } from "@/components/invitation-dialog";
import { type ViewDraft, CountryField, TimezoneField, ViewsField } from "@/components/store-fields";
import { type Plan, planName, plans } from "@/domain/plans";
import { FormDialog } from "@/ui/dialog";
import { SelectField, TextField } from "@/ui/field";

const section = "grid gap-4 border-t pt-4 sm:grid-cols-2";

/** Opens a website with its first store, and invites its first owner. */
export function OpenDialog({ onClose }: { onClose: () => void }) {
  const invalidate = useInvalidate();
  const [views, setViews] = useState<ViewDraft[]>([{ key: 0, locale: "", currency: "" }]);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const open = useMutation({
    mutationFn: (body: components["schemas"]["OpenWebsiteRequest"]) =>
      data(api.POST("/platform/websites", { body, params: { header: { "Idempotency-Key": idempotencyKey } } })),
    onSuccess: () => invalidate("websites"),
  });
  if (open.data) return <InvitationDialog invitation={open.data.invitation} title="Website opened" onClose={onClose} />;
  const fieldError = fieldErrors(open.error);
  function submit(form: FormData) {
    const text = (name: string) => String(form.get(name)).trim();
    open.mutate({
      name: text("name"),
      domain: text("domain").toLowerCase(),
      plan: text("plan") as Plan,
      store: {
        name: text("storeName"),
        countryCode: text("countryCode"),
        timezone: text("timezone"),
        views: views.map(({ locale, currency }) => ({ locale: locale.trim(), currency: currency.trim() })),
      },
      owner: { email: text("email"), name: text("ownerName") },
    });
  }
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="Open website"
      description="A website starts with one store. Its first owner gets an invitation."
      mutation={open}
      onSubmit={submit}
      submitLabel="Open website"
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Website name"
          name="name"
          {...limits.OpenWebsiteRequest.name}
          autoComplete="off"
          error={fieldError("name")}
        />
        <TextField
          label="Domain"
          name="domain"
          {...limits.OpenWebsiteRequest.domain}
          autoComplete="off"
          spellCheck={false}
          placeholder="trattoria.example"
          hint="The host name of the restaurant's own website."
          error={fieldError("domain")}
        />
        <SelectField label="Plan" name="plan" defaultValue="STARTER" error={fieldError("plan")}>
          {plans.map((plan) => (
            <option key={plan} value={plan}>
              {planName(plan)}
            </option>
          ))}
        </SelectField>
      </div>
      <div className={section}>
        <h3 className="font-medium sm:col-span-2">First store</h3>
        <TextField
          label="Store name"
          name="storeName"
          {...limits.NewStoreRequest.name}
          autoComplete="off"
          error={fieldError("store.name")}
        />
        <CountryField error={fieldError("store.countryCode")} />
        <TimezoneField error={fieldError("store.timezone")} />
      </div>
      <ViewsField
        views={views}
        max={limits.NewStoreRequest.views.maxItems}
        onChange={setViews}
        error={(index, member) => fieldError(`store.views[${index}].${member}`)}
      />
      <div className={section}>
        <h3 className="font-medium sm:col-span-2">First owner</h3>
        <TextField
          label="Owner name"
          name="ownerName"
          {...limits.NewMemberRequest.name}
          autoComplete="off"
          error={fieldError("owner.name")}
        />
        <TextField
          label="Owner email"
          name="email"
          type="email"
          {...limits.NewMemberRequest.email}
          autoComplete="off"
          error={fieldError("owner.email")}
        />
      </div>
    </FormDialog>
  );
}
