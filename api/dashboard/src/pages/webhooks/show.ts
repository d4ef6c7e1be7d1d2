import { getRouteApi, useNavigate } from "@tanstack/react-router";

import type { WebhookSearch } from "./search";

const route = getRouteApi("/inside/webhooks/$id");

/** The webhook and what is shown of it, both from the page's address; and how to show something else. */
export function useShown() {
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const show = (change: WebhookSearch, options?: { replace?: boolean }) =>
    void navigate({ to: "/webhooks/$id", params: { id }, search: { ...search, ...change }, resetScroll: false, replace: options?.replace });
  return { id, search, show };
}
