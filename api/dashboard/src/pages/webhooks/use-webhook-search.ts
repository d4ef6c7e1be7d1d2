import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { type WebhookSearch, webhookSearch } from "./search";

const route = getRouteApi("/inside/webhooks/$id");

/** Returns the webhook id and the search parameters of the page, and a function that changes the parameters. */
export function useWebhookSearch() {
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  /** A function gets the parameters of the newest navigation, which the page may not show yet. */
  const show = (change: WebhookSearch | ((newest: WebhookSearch) => WebhookSearch), options?: { replace?: boolean }) =>
    void navigate({
      to: "/webhooks/$id",
      params: { id },
      search: (parameters) => {
        const newest = webhookSearch(parameters);
        return { ...newest, ...(typeof change === "function" ? change(newest) : change) };
      },
      resetScroll: false,
      replace: options?.replace,
    });
  return { id, search, show };
}
