import { Link, createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { analyticsSearch } from "@/pages/analytics/search";
import { auditSearch } from "@/pages/audit/search";
import { customersSearch } from "@/pages/customers/search";
import { AcceptInvitePage } from "@/pages/login/accept-invite";
import { LoginPage } from "@/pages/login/login";
import { ordersSearch } from "@/pages/orders/search";
import { cashUpSearch } from "@/pages/cash-up/search";
import { paymentsSearch } from "@/pages/payments/search";
import { productsSearch } from "@/pages/products/search";
import { reservationsSearch } from "@/pages/reservations/search";
import { ProofDialog } from "@/pages/security/proof-dialog";
import { deadLettersSearch, eventsSearch, webhookSearch } from "@/pages/webhooks/search";
import { AccountProvider, useAccount } from "@/session/account";
import { SessionProvider, useSessionState } from "@/session/session";
import { Button } from "@/ui/button";
import { Countdown } from "@/ui/duration";
import { inlineLink } from "@/ui/link";
import { Empty, Failure, Loading } from "@/ui/page";

import { Layout, PlatformLayout } from "./layout";

const root = createRootRoute({ notFoundComponent: NotFound });

const acceptInvite = createRoute({ getParentRoute: () => root, path: "/accept-invite", component: AcceptInvitePage });

/** The parent of all routes that require a login. */
const inside = createRoute({ getParentRoute: () => root, id: "inside", component: Inside });

function Inside() {
  const { state, retry, retryAt } = useSessionState();
  switch (state) {
    case "checking":
      return <Loading label="Checking your session" />;
    case "unreachable":
      return (
        <Unavailable title="Service unavailable" retry={retry}>
          Comanda does not respond. Check your connection. This page tries again every few seconds; no data is lost.
        </Unavailable>
      );
    case "limited":
      return (
        <Unavailable title="Too many requests">
          This page was loaded too often within a minute. It continues without a click{" "}
          {retryAt && <Countdown to={new Date(retryAt).toISOString()} />}. Your session is not affected.
        </Unavailable>
      );
    case "suspended":
      return (
        <Unavailable title="Website suspended" retry={retry}>
          The provider of this service has suspended your website. Contact the provider; no data is lost.
        </Unavailable>
      );
    case "refused":
      return (
        <Unavailable title="Request refused" retry={retry}>
          Comanda refuses requests from this address. Open the dashboard at its usual address, or contact the operator
          of this service; no data is lost.
        </Unavailable>
      );
    case "loggedOut":
      return <LoginPage />;
    case "loggedIn":
      return (
        <AccountProvider fallback={fallback}>
          <Realm />
          <ProofDialog />
        </AccountProvider>
      );
  }
}

const Unavailable = ({ title, retry, children }: { title: string; retry?: () => void; children: ReactNode }) => (
  <main className="mx-auto mt-20 grid max-w-md gap-4 p-4 text-center">
    <h1 className="text-xl font-semibold">{title}</h1>
    <p className="text-sm text-muted-foreground">{children}</p>
    {retry && <Button onClick={retry}>Try again</Button>}
  </main>
);

const fallback = (error: unknown, retry: () => void) =>
  error ? <Failure error={error} retry={retry} className="m-6" /> : <Loading />;

/** The pages of a store or, for a platform administrator, the platform console. */
function Realm() {
  const { store } = useAccount();
  if (!store) return <PlatformLayout />;
  return (
    <SessionProvider fallback={fallback}>
      <Layout />
    </SessionProvider>
  );
}

function NotFound() {
  return (
    <Empty title="Page not found">
      <Link to="/" className={inlineLink}>
        Go to the home page
      </Link>
    </Empty>
  );
}

const lazyComponent = (load: () => Promise<Record<string, unknown>>, name: string) =>
  lazyRouteComponent(load as () => Promise<Record<string, () => null>>, name);

const page = <Path extends string>(path: Path, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({ getParentRoute: () => inside, path, component: lazyComponent(load, name) });

const orders = createRoute({
  getParentRoute: () => inside,
  path: "/orders",
  validateSearch: ordersSearch,
  component: lazyComponent(() => import("@/pages/orders/page"), "OrdersPage"),
});

const products = createRoute({
  getParentRoute: () => inside,
  path: "/products",
  validateSearch: productsSearch,
  component: lazyComponent(() => import("@/pages/products/page"), "ProductsPage"),
});

const customers = createRoute({
  getParentRoute: () => inside,
  path: "/customers",
  validateSearch: customersSearch,
  component: lazyComponent(() => import("@/pages/customers/page"), "CustomersPage"),
});

const payments = createRoute({
  getParentRoute: () => inside,
  path: "/payments",
  validateSearch: paymentsSearch,
  component: lazyComponent(() => import("@/pages/payments/page"), "PaymentsPage"),
});

const cashUp = createRoute({
  getParentRoute: () => inside,
  path: "/cash-up",
  validateSearch: cashUpSearch,
  component: lazyComponent(() => import("@/pages/cash-up/page"), "CashUpPage"),
});

const reservations = createRoute({
  getParentRoute: () => inside,
  path: "/reservations",
  validateSearch: reservationsSearch,
  component: lazyComponent(() => import("@/pages/reservations/page"), "ReservationsPage"),
});

const webhook = createRoute({
  getParentRoute: () => inside,
  path: "/webhooks/$id",
  validateSearch: webhookSearch,
  component: lazyComponent(() => import("@/pages/webhooks/detail"), "WebhookPage"),
});

const events = createRoute({
  getParentRoute: () => inside,
  path: "/webhooks/events",
  validateSearch: eventsSearch,
  component: lazyComponent(() => import("@/pages/webhooks/event-list"), "EventsPage"),
});

const deadLetters = createRoute({
  getParentRoute: () => inside,
  path: "/dead-letters",
  validateSearch: deadLettersSearch,
  component: lazyComponent(() => import("@/pages/webhooks/dead-letters"), "DeadLettersPage"),
});

const analytics = createRoute({
  getParentRoute: () => inside,
  path: "/analytics",
  validateSearch: analyticsSearch,
  component: lazyComponent(() => import("@/pages/analytics/page"), "AnalyticsPage"),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  validateSearch: auditSearch,
  component: lazyComponent(() => import("@/pages/audit/page"), "AuditPage"),
});

const security = createRoute({
  getParentRoute: () => inside,
  path: "/security",
  validateSearch: (search: Record<string, unknown>): { required?: boolean } =>
    search.required === true ? { required: true } : {},
  component: lazyComponent(() => import("@/pages/security/page"), "SecurityPage"),
});

const platformAudit = createRoute({
  getParentRoute: () => inside,
  path: "/platform/audit",
  validateSearch: auditSearch,
  component: lazyComponent(() => import("@/pages/audit/platform"), "PlatformAuditPage"),
});

// These routes are constants because a route created inside addChildren has the path type `string`,
// which degrades the types of every route.
const home = page("/", () => import("@/pages/stores/home"), "HomePage");
const unknown = createRoute({ getParentRoute: () => inside, path: "$", component: NotFound }); // keeps the menu visible

const routeTree = root.addChildren([
  acceptInvite,
  inside.addChildren([
    home,
    orders,
    products,
    customers,
    payments,
    cashUp,
    reservations,
    page("/customers/$id", () => import("@/pages/customers/detail"), "CustomerPage"),
    page("/orders/new", () => import("@/pages/new-order/page"), "NewOrderPage"),
    page("/orders/$id", () => import("@/pages/orders/detail"), "OrderPage"),
    page("/orders/$id/change", () => import("@/pages/new-order/change-page"), "ChangeOrderPage"),
    page("/api-keys", () => import("@/pages/api-keys/page"), "APIKeysPage"),
    page("/webhooks", () => import("@/pages/webhooks/list"), "WebhooksPage"),
    webhook,
    events,
    page("/webhooks/events/$id", () => import("@/pages/webhooks/event"), "EventPage"),
    page("/webhooks/deliveries/$id", () => import("@/pages/webhooks/delivery"), "DeliveryPage"),
    deadLetters,
    analytics,
    page("/store", () => import("@/pages/stores/page"), "StorePage"),
    page("/social-login", () => import("@/pages/social-login"), "SocialLoginPage"),
    page("/settings", () => import("@/pages/settings/page"), "SettingsPage"),
    page("/plan", () => import("@/pages/plan"), "PlanPage"),
    audit,
    unknown,
    security,
    page("/platform/websites", () => import("@/pages/platform/websites"), "WebsitesPage"),
    page("/platform/websites/$id", () => import("@/pages/platform/website"), "WebsitePage"),
    platformAudit,
    page("/team", () => import("@/pages/team/page"), "TeamPage"),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/dashboard",
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultNotFoundComponent: NotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
