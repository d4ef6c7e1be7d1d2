import { Link, Navigate, Outlet, useMatchRoute } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { roles } from "@/domain/roles";
import { NewOrderAlarm } from "@/pages/orders/alarm";
import { FindOrder } from "@/pages/orders/find";
import { LiveOrders } from "@/pages/orders/live";
import { PauseBanner } from "@/pages/orders/pause";
import { PrintProvider } from "@/pages/orders/print";
import { StepsProvider } from "@/pages/orders/steps";
import { useSession } from "@/session/session";
import { inlineLink } from "@/ui/link";
import { Empty, PageHeader } from "@/ui/page";

import { Frame } from "./frame";
import { platformSections, sections } from "./sections";
import { StoreSwitch } from "./store-switch";

/** The layout of a store's pages. */
export function Layout() {
  const { storeName, role, atLeast } = useSession();
  const deadLetters = useQuery({ ...queries.webhooks.deadLetters, enabled: atLeast("ADMIN"), refetchInterval: 60_000 });
  const count = deadLetters.data?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  return (
    <LiveOrders>
      <PrintProvider>
        <StepsProvider>
          <NewOrderAlarm />
          <Frame
            name={storeName}
            position={roles[role].name}
            sections={sections
              .filter((section) => atLeast(section.role))
              .map((section) => ({ ...section, badge: section.to === "/dead-letters" ? count : 0 }))}
            controls={
              <>
                <StoreSwitch />
                <FindOrder />
              </>
            }
          >
            <PauseBanner />
            <Page />
          </Frame>
        </StepsProvider>
      </PrintProvider>
    </LiveOrders>
  );
}

/** The layout of the platform console, for platform administrators. They have no store, so its pages redirect. */
export function PlatformLayout() {
  const matches = useMatchRoute();
  const permitted = [...platformSections, { to: "/security" }].some(({ to }) => matches({ to, fuzzy: true }));
  return (
    <Frame name="Platform console" position="Platform administrator" sections={platformSections}>
      {permitted ? <Outlet /> : <Navigate to="/platform/websites" replace />}
    </Frame>
  );
}

/** The page, or an explanation if its section requires a higher role (the API would refuse all its requests). */
function Page() {
  const { atLeast, role } = useSession();
  const matches = useMatchRoute();
  const matching = ({ to }: { to: string }) => matches({ to, fuzzy: true });
  const section = sections.find(matching);
  const platform = platformSections.find(matching);
  if (platform) {
    return (
      <Refusal title={platform.label} reason="Your login cannot open this page">
        This page is for platform administrators.
      </Refusal>
    );
  }
  if (!section || atLeast(section.role)) return <Outlet />;
  return (
    <Refusal title={section.label} reason={`Your role, ${roles[role].name}, cannot open this page`}>
      This page requires the role {roles[section.role].name}
      {section.role === "OWNER" ? "" : " or higher"}. Ask an owner of this store to change your role.
    </Refusal>
  );
}

const Refusal = ({ title, reason, children }: { title: string; reason: string; children: ReactNode }) => (
  <>
    <PageHeader title={title} />
    <Empty title={reason}>
      <p>{children}</p>
      <Link to="/" className={inlineLink}>
        Go to the home page
      </Link>
    </Empty>
  </>
);
