import { Link, Outlet, useMatchRoute } from "@tanstack/react-router";
import { LogOut, Menu, Moon, Sun, X } from "lucide-react";
import { useEffect, useState } from "react";

import { wordsOf } from "@/api/words";
import { sections } from "@/sections";
import { useSession } from "@/session/session";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { Select } from "@/ui/field";
import { Empty, PageHeader } from "@/ui/page";
import { useToast } from "@/ui/toast";

/** The frame around every page: the menu, the store, who is logged in. */
export function Layout() {
  const [open, setOpen] = useState(false);
  const session = useSession();
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_1fr]">
      <a href="#main" className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-surface focus:p-2">
        Skip to the page
      </a>
      <header className="flex items-center justify-between border-b bg-surface p-2 lg:hidden">
        <span className="flex items-center gap-2 font-semibold">
          <img src="/dashboard/icon.svg" alt="" className="size-7" /> {session.storeName}
        </span>
        <Button variant="ghost" size="icon" aria-label={open ? "Close the menu" : "Open the menu"} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <X /> : <Menu />}
        </Button>
      </header>
      <aside className={cn("flex-col gap-4 border-r bg-surface p-3 lg:sticky lg:top-0 lg:flex lg:h-dvh lg:overflow-y-auto", open ? "flex" : "hidden")}>
        <div className="hidden items-center gap-2 px-2 pt-1 text-lg font-semibold lg:flex">
          <img src="/dashboard/icon.svg" alt="" className="size-7" /> Comanda
        </div>
        <StoreSwitch />
        <nav aria-label="Sections" className="grid gap-0.5">
          {sections
            .filter((section) => session.atLeast(section.role))
            .map(({ to, label, icon: Icon }) => (
              <Link
                key={to}
                to={to}
                onClick={() => setOpen(false)}
                className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-muted-foreground hover:bg-muted hover:text-foreground"
                activeProps={{ className: "bg-muted font-medium text-foreground!" }}
              >
                <Icon className="size-4" aria-hidden /> {label}
              </Link>
            ))}
        </nav>
        <div className="mt-auto grid gap-2 border-t pt-3 text-sm">
          <p className="truncate px-2" title={session.user.email}>
            {session.user.name}
            <span className="block truncate text-xs text-muted-foreground">
              {session.role} · {session.user.email}
            </span>
          </p>
          <div className="flex gap-1">
            <Button variant="ghost" size="small" onClick={() => void session.logOut()}>
              <LogOut aria-hidden /> Log out
            </Button>
            <ThemeSwitch />
          </div>
        </div>
      </aside>
      <main id="main" className="mx-auto w-full max-w-6xl p-4 lg:p-6">
        <Page />
      </main>
    </div>
  );
}

/** The page, unless its section is for higher roles: the API would refuse everything that it asks for. */
function Page() {
  const { atLeast, role } = useSession();
  const matches = useMatchRoute();
  const section = sections.find(({ to }) => matches({ to, fuzzy: true }));
  if (!section || atLeast(section.role)) return <Outlet />;
  return (
    <>
      <PageHeader title={section.label} />
      <Empty title={`This is not for your role, ${role}`}>
        <p>It is for {section.role === "OWNER" ? "an OWNER" : `the role ${section.role} and those above it`}. An OWNER of this store can give you another role.</p>
        <Link to="/" className="text-primary underline">
          To the first page
        </Link>
      </Empty>
    </>
  );
}

/** The active store with its view: its language and currency are those of the dashboard. */
function StoreSwitch() {
  const { stores, storeId, locale, currency, switchStore } = useSession();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const active = stores.find((store) => store.storeId === storeId);
  const website = stores.filter((store) => store.websiteId === active?.websiteId);
  const view = active?.storeViews.find((one) => one.locale === locale && one.currency === currency);
  async function change(store: string, storeView?: string) {
    setBusy(true);
    try {
      await switchStore(store, storeView);
    } catch (error) {
      toast(wordsOf(error), { bad: true });
    } finally {
      setBusy(false);
    }
  }
  return (
    <div className="grid gap-1.5">
      <Select aria-label="Store" value={storeId} disabled={busy} onChange={(event) => void change(event.target.value)}>
        {website.map((store) => (
          <option key={store.storeId} value={store.storeId}>
            {store.storeName}
          </option>
        ))}
      </Select>
      {active && active.storeViews.length > 1 && (
        <Select aria-label="View" value={view?.id} disabled={busy} onChange={(event) => void change(storeId, event.target.value)}>
          {active.storeViews.map((one) => (
            <option key={one.id} value={one.id}>
              {one.locale} · {one.currency}
            </option>
          ))}
        </Select>
      )}
    </div>
  );
}

function ThemeSwitch() {
  const [dark, setDark] = useState(() => document.documentElement.classList.contains("dark"));
  useEffect(() => {
    document.documentElement.classList.toggle("dark", dark);
  }, [dark]);
  return (
    <Button
      variant="ghost"
      size="icon"
      aria-label={dark ? "Use light colours" : "Use dark colours"}
      onClick={() => {
        localStorage.setItem("comanda.theme", dark ? "light" : "dark");
        setDark(!dark);
      }}
    >
      {dark ? <Sun /> : <Moon />}
    </Button>
  );
}
