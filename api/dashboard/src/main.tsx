import "./styles.css";
import { ComandaError } from "@comanda/client";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { ToastProvider } from "@/ui/toast";

import { router } from "./router";

// Dialogs add an inline style sheet that locks scrolling; the Content-Security-Policy requires this nonce on it.
setNonce(document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "");

/** Redirects to the security page if the store or the platform requires a second factor, which the user must set up. */
function onError(error: unknown) {
  if (error instanceof ComandaError && error.code === "OTP_SETUP_REQUIRED")
    void router.navigate({ to: "/security", search: { required: true }, replace: true });
}

/** The number of retries of a request that exceeded a rate limit; each waits as long as the server demands. */
const limitedRetries = 5;

const isLimited = (error: unknown) => error instanceof ComandaError && error.status === 429 && error.retryAfter;

// Network and gateway errors and exceeded rate limits are retried: any other refusal would be the same the second time.
// A change is never retried or postponed: it would take effect when the user no longer expects it.
const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) =>
        isLimited(error)
          ? failures < limitedRetries
          : failures < 2 && error instanceof ComandaError && (error.status === 0 || error.status >= 502),
      retryDelay: (failures, error) =>
        error instanceof ComandaError && error.retryAfter
          ? (error.retryAfter + Math.random()) * 1000
          : Math.min(1000 * 2 ** failures, 30_000),
    },
    mutations: { networkMode: "always", retry: false },
  },
});

async function start() {
  // Not every browser has the Temporal API yet; its polyfill is a separate chunk.
  if (!("Temporal" in globalThis)) await import("temporal-polyfill/global");
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}

void start();
