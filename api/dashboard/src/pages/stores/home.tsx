import { Link, Navigate } from "@tanstack/react-router";

import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { Loading, PageHeader } from "@/ui/page";

import { SetupCard, useSetup } from "./setup-card";

/** The home page: the set-up for those who can complete it, otherwise the board. */
export function HomePage() {
  const { atLeast, storeName } = useSession();
  const admin = atLeast("ADMIN");
  const setup = useSetup(admin);
  if (!admin || setup.complete) return <Navigate to="/orders" replace />;
  if (setup.parts.isPending) return <Loading />;
  return (
    <>
      <PageHeader
        title="Home"
        about={`Complete the set-up of ${storeName}. Then this page opens the board.`}
        actions={
          <Button asChild>
            <Link to="/orders">Open the board</Link>
          </Button>
        }
      />
      <SetupCard setup={setup} />
    </>
  );
}
