import type { components } from "@comanda/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, data, fieldErrors } from "@/api/client";
import { queries } from "@/api/queries";
import { SocialFields, providers, socialChange } from "@/components/social-fields";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Form } from "@/ui/field";
import { Card, Failure, PageHeader, QueryState } from "@/ui/page";
import { useToast } from "@/ui/toast";

type OwnWebsite = components["schemas"]["OwnWebsite"];

/** The client ids of the website, with which customers log in by their account at another provider. */
export function SocialLoginPage() {
  const website = useQuery(queries.website);
  const names = new Intl.ListFormat("en", { type: "disjunction" }).format(Object.values(providers));
  return (
    <>
      <PageHeader title="Social login" about={`Customers log in to your shop with their account at ${names}.`} />
      <QueryState query={website} />
      {website.data && <ClientIDs key={JSON.stringify(website.data.social)} website={website.data} />}
    </>
  );
}

function ClientIDs({ website }: { website: OwnWebsite }) {
  const { atLeast } = useSession();
  const client = useQueryClient();
  const toast = useToast();
  const owner = atLeast("OWNER");
  const save = useMutation({
    mutationFn: (social: components["schemas"]["ClientIDsRequest"]) =>
      data(api.PATCH("/website", { body: { social } })),
    onSuccess: (changed) => {
      toast("Social login saved");
      client.setQueryData(queries.website.queryKey, changed);
    },
  });
  const off = Object.values(website.social).every((ids) => ids.length === 0);
  function submit(form: FormData) {
    const change = socialChange(website.social, form);
    if (Object.keys(change).length === 0) return toast("No changes to save");
    save.mutate(change);
  }
  return (
    <Card title={`Client ids of ${website.name}`} className="max-w-3xl">
      <p className="mb-4 text-sm text-muted-foreground">
        {off && "Social login is off. "}
        Create a client id for {website.domain} at the provider and enter it here. It applies to all stores of the
        website; the API accepts only ID tokens that the provider issued for these client ids.
      </p>
      <Form onSubmit={submit}>
        <SocialFields social={website.social} readOnly={!owner} error={fieldErrors(save.error)} />
        <Failure error={save.error} />
        {owner ? (
          <Button type="submit" className="justify-self-start" busy={save.isPending}>
            Save
          </Button>
        ) : (
          <p className="text-sm text-muted-foreground">Only an owner of this store can change the client ids.</p>
        )}
      </Form>
    </Card>
  );
}
