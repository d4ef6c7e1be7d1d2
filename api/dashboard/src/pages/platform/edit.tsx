import type { components } from "@comanda/client";
import { useMutation } from "@tanstack/react-query";

import { api, data, fieldErrors } from "@/api/client";
import * as limits from "@/api/limits";
import { useInvalidate } from "@/api/queries";
import { SocialFields, socialChange } from "@/components/social-fields";
import { type Plan, planManagers, planName, plans } from "@/domain/plans";
import { FormDialog } from "@/ui/dialog";
import { SelectField, TextField } from "@/ui/field";
import { useToast } from "@/ui/toast";

import type { Website } from "./types";

type Change = components["schemas"]["ChangeWebsiteRequest"];
type Props = { website: Website; onClose: () => void };

function useChange({ website, onClose }: Props, done: (changed: Website) => string) {
  const invalidate = useInvalidate();
  const toast = useToast();
  return useMutation({
    mutationFn: (body: Change) =>
      data(api.PATCH("/platform/websites/{id}", { params: { path: { id: website.id } }, body })),
    onSuccess: (changed) => {
      toast(done(changed));
      onClose();
    },
    onSettled: () => invalidate("websites"),
  });
}

/** Edits the name, the domain and the plan of a website. It sends only what was changed. */
export function EditDialog(props: Props) {
  const { website, onClose } = props;
  const save = useChange(props, ({ name }) => `${name} saved`);
  const fieldError = fieldErrors(save.error);
  function submit(form: FormData) {
    const next = {
      name: String(form.get("name")).trim(),
      domain: String(form.get("domain")).trim().toLowerCase(),
      plan: form.get("plan") as Plan,
      planManagedBy: form.get("planManagedBy") as Website["planManagedBy"],
    };
    save.mutate(
      Object.fromEntries(
        Object.entries(next).filter(([member, value]) => value !== website[member as keyof typeof next]),
      ),
    );
  }
  return (
    <FormDialog onClose={onClose} title={`Edit ${website.name}`} mutation={save} onSubmit={submit} submitLabel="Save">
      <TextField
        label="Website name"
        name="name"
        required
        {...limits.ChangeWebsiteRequest.name}
        autoComplete="off"
        defaultValue={website.name}
        error={fieldError("name")}
      />
      <TextField
        label="Domain"
        name="domain"
        required
        {...limits.ChangeWebsiteRequest.domain}
        autoComplete="off"
        spellCheck={false}
        defaultValue={website.domain}
        hint="The host name of the restaurant's own website, whose pages can call the API."
        error={fieldError("domain")}
      />
      <SelectField
        label="Plan"
        name="plan"
        defaultValue={website.plan}
        hint="The plan takes effect immediately for all stores of the website."
        error={fieldError("plan")}
      >
        {plans.map((plan) => (
          <option key={plan} value={plan}>
            {planName(plan)}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="Plan changed by"
        name="planManagedBy"
        defaultValue={website.planManagedBy}
        error={fieldError("planManagedBy")}
      >
        {Object.entries(planManagers).map(([manager, name]) => (
          <option key={manager} value={manager}>
            {name}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

/** Edits the client ids of a website. */
export function SocialDialog(props: Props) {
  const { website, onClose } = props;
  const save = useChange(props, () => "Social login saved");
  return (
    <FormDialog
      onClose={onClose}
      title={`Social login of ${website.name}`}
      description={
        "Customers can log in with ID tokens that a provider issued for these client ids. " +
        "A client id of another website moves to this one."
      }
      mutation={save}
      onSubmit={(form) => save.mutate({ social: socialChange(website.social, form) })}
      submitLabel="Save"
    >
      <SocialFields social={website.social} error={fieldErrors(save.error)} />
    </FormDialog>
  );
}

/** Suspends a website, or resumes a suspended one. */
export function SuspendDialog(props: Props) {
  const { website, onClose } = props;
  const suspended = website.suspendedAt !== null;
  const change = useChange(props, ({ name }) => (suspended ? `${name} resumed` : `${name} suspended`));
  return (
    <FormDialog
      danger={!suspended}
      onClose={onClose}
      title={suspended ? `Resume ${website.name}?` : `Suspend ${website.name}?`}
      mutation={change}
      onSubmit={() => change.mutate({ suspended: !suspended })}
      submitLabel={suspended ? "Resume website" : "Suspend website"}
      cancelLabel={suspended ? "Keep suspended" : "Keep active"}
    >
      <ul className="grid list-disc gap-1.5 pl-5 text-sm">
        {suspended ? (
          <>
            <li>Users and customers can log in again. Their earlier sessions are valid again.</li>
            <li>API keys work again.</li>
          </>
        ) : (
          <>
            <li>Users, customers and API keys of all its stores are refused from the next request on.</li>
            <li>Invitations cannot be accepted, and customers cannot register.</li>
            <li>Webhook deliveries of earlier events continue. No data is deleted.</li>
          </>
        )}
        <li>The change is recorded in the audit trail.</li>
      </ul>
    </FormDialog>
  );
}
