import { Link, Navigate, createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";

import { Layout } from "@/layout";
import { analyticsSearch } from "@/pages/analytics/search";
import { auditSearch } from "@/pages/audit/search";
import { customersSearch } from "@/pages/customers/search";
import { ordersSearch } from "@/pages/orders/search";
import { productsSearch } from "@/pages/products/search";
import { reservationsSearch } from "@/pages/reservations/search";
import { deadLettersSearch, webhookSearch } from "@/pages/webhooks/search";
import { sections } from "@/sections";
import { AcceptInvitePage } from "@/session/accept-invite";
import { LoginPage } from "@/session/login";
import { SessionProvider, useSession, useStart } from "@/session/session";
import { Button } from "@/ui/button";
import { Empty, Failure, Loading } from "@/ui/page";

const root = createRootRoute({ notFoundComponent: NotFound });

const acceptInvite = createRoute({ getParentRoute: () => root, path: "/accept-invite", component: AcceptInvitePage });

/** Everything behind the login. */
const inside = createRoute({ getParentRoute: () => root, id: "inside", component: Inside });

function Inside() {
  const { state, again } = useStart();
  switch (state) {
    case "asking":
      return <Loading what="Looking for your session" />;
    case "unreachable":
      return (
        <main className="mx-auto mt-20 grid max-w-md gap-4 p-4 text-center">
          <h1 className="text-xl font-semibold">The service cannot be reached</h1>
          <p className="text-sm text-muted-foreground">Nothing is lost. This page works again as soon as the service answers.</p>
          <Button onClick={again}>Try again</Button>
        </main>
      );
    case "out":
      return <LoginPage />;
    case "in":
      return (
        <SessionProvider fallback={(error, retry) => (error ? <Failure error={error} retry={retry} className="m-6" /> : <Loading />)}>
          <Layout />
        </SessionProvider>
      );
  }
}

function NotFound() {
  return (
    <Empty title="There is no such page">
      <Link to="/" className="text-primary underline">
        To the first page
      </Link>
    </Empty>
  );
}

function First() {
  const { atLeast } = useSession();
  return <Navigate to={sections.find((section) => atLeast(section.role))!.to} replace />;
}

const lazily = (load: () => Promise<Record<string, unknown>>, name: string) => lazyRouteComponent(load as () => Promise<Record<string, () => null>>, name);

const page = <Path extends string>(path: Path, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({ getParentRoute: () => inside, path, component: lazily(load, name) });

const orders = createRoute({
  getParentRoute: () => inside,
  path: "/orders",
  validateSearch: ordersSearch,
  component: lazily(() => import("@/pages/orders/page"), "OrdersPage"),
});

const products = createRoute({
  getParentRoute: () => inside,
  path: "/products",
  validateSearch: productsSearch,
  component: lazily(() => import("@/pages/products/page"), "ProductsPage"),
});

const customers = createRoute({
  getParentRoute: () => inside,
  path: "/customers",
  validateSearch: customersSearch,
  component: lazily(() => import("@/pages/customers/page"), "CustomersPage"),
});

const reservations = createRoute({
  getParentRoute: () => inside,
  path: "/reservations",
  validateSearch: reservationsSearch,
  component: lazily(() => import("@/pages/reservations/page"), "ReservationsPage"),
});

const webhook = createRoute({
  getParentRoute: () => inside,
  path: "/webhooks/$id",
  validateSearch: webhookSearch,
  component: lazily(() => import("@/pages/webhooks/detail"), "WebhookPage"),
});

const deadLetters = createRoute({
  getParentRoute: () => inside,
  path: "/dead-letters",
  validateSearch: deadLettersSearch,
  component: lazily(() => import("@/pages/dead-letters"), "DeadLettersPage"),
});

const analytics = createRoute({
  getParentRoute: () => inside,
  path: "/analytics",
  validateSearch: analyticsSearch,
  component: lazily(() => import("@/pages/analytics/page"), "AnalyticsPage"),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  validateSearch: auditSearch,
  component: lazily(() => import("@/pages/audit/page"), "AuditPage"),
});

// Constants, as all routes: among the children, a path would be any string, and so would the
// types of every route.
const first = createRoute({ getParentRoute: () => inside, path: "/", component: First });
const elsewhere = createRoute({ getParentRoute: () => inside, path: "$", component: NotFound }); // beside the menu

const routeTree = root.addChildren([
  acceptInvite,
  inside.addChildren([
    first,
    orders,
    products,
    customers,
    reservations,
    page("/customers/$id", () => import("@/pages/customers/detail"), "CustomerPage"),
    page("/orders/new", () => import("@/pages/orders/new"), "NewOrderPage"),
    page("/orders/$id", () => import("@/pages/orders/detail"), "OrderPage"),
    page("/api-keys", () => import("@/pages/api-keys/page"), "APIKeysPage"),
    page("/webhooks", () => import("@/pages/webhooks/list"), "WebhooksPage"),
    webhook,
    deadLetters,
    analytics,
    page("/settings", () => import("@/pages/settings/page"), "SettingsPage"),
    page("/plan", () => import("@/pages/plan"), "PlanPage"),
    audit,
    elsewhere,
    page("/team", () => import("@/pages/team/page"), "TeamPage"),
  ]),
]);

export const router = createRouter({ routeTree, basepath: "/dashboard", defaultPreload: "intent", scrollRestoration: true, defaultNotFoundComponent: NotFound });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
