import { Link, getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus, Radio, RefreshCw, WifiOff } from "lucide-react";

import { useConnected } from "@/api/connection";
import { Button } from "@/ui/button";
import { Choice } from "@/ui/choice";
import { PageHeader } from "@/ui/page";

import { SoundButton } from "./alarm";
import { Board } from "./board";
import { OrderList } from "./list";
import { useLiveOrders } from "./live";
import { PauseButton } from "./pause";
import { BoardSettings } from "./settings";

const route = getRouteApi("/inside/orders");

export function OrdersPage() {
  const { view = "board" } = route.useSearch();
  const navigate = useNavigate();
  const { live, refetchInterval } = useLiveOrders();
  const connected = useConnected();
  return (
    <>
      <PageHeader
        title="Orders"
        about={
          <span role="status" className="inline-flex items-center gap-1.5">
            {!connected ? (
              <WifiOff className="size-4" aria-hidden />
            ) : live ? (
              <Radio className="size-4 text-success" aria-hidden />
            ) : (
              <RefreshCw className="size-4" aria-hidden />
            )}
            {!connected ? "No updates" : live ? "Live updates" : "Updates every 10 seconds"}
          </span>
        }
        actions={
          <>
            <PauseButton />
            <SoundButton />
            <BoardSettings />
            <Choice
              label="View"
              value={view}
              options={{ board: "Board", all: "All orders" }}
              onChange={(next) => void navigate({ to: "/orders", search: next === "board" ? {} : { view: next } })}
            />
            <Button asChild>
              <Link to="/orders/new">
                <Plus aria-hidden /> New order
              </Link>
            </Button>
          </>
        }
      />
      {view === "board" ? <Board /> : <OrderList refetchInterval={refetchInterval} />}
    </>
  );
}
