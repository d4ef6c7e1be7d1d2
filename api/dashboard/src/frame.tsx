import { Link, type LinkProps } from "@tanstack/react-router";
import { LogOut, Menu, Moon, ShieldCheck, Sun, WifiOff, X } from "lucide-react";
import { type ComponentType, type ReactNode, useEffect, useState } from "react";

import { useConnected } from "@/api/connection";
import { errorMessage } from "@/api/error-message";
import { useAccount } from "@/session/account";
import { Button } from "@/ui/button";
import { cn } from "@/ui/cn";
import { useToast } from "@/ui/toast";

type Section = {
  to: LinkProps["to"];
  label: string;
  icon: ComponentType<{ className?: string; "aria-hidden"?: boolean }>;
  /** A number beside the label; 0 is not shown. */
  badge?: number;
};

type Props = {
  /** The name above the page on narrow screens. */
  name: string;
  /** The user's role. */
  position: string;
  sections: readonly Section[];
  /** Controls above the menu. */
  controls?: ReactNode;
  children: ReactNode;
};

const item = cn(
  "flex items-center gap-2.5 rounded-md px-2 py-1.5 pointer-coarse:min-h-11",
  "text-sm text-muted-foreground hover:bg-muted hover:text-foreground",
);
const active = { className: "bg-muted font-medium text-foreground!" };

/** The frame around every page: menu and account. */
export function Frame({ name, position, sections, controls, children }: Props) {
  const { user } = useAccount();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15rem_1fr] big:block! print:block!">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:bg-surface focus:p-2"
      >
        Skip to content
      </a>
      <header
        className={cn(
          "flex items-center justify-between gap-2 border-b bg-surface p-2",
          "lg:hidden big:hidden print:hidden",
        )}
      >
        <span className="flex min-w-0 items-center gap-2 font-semibold">
          <img src="/dashboard/icon.svg" alt="" className="size-7" /> <span className="truncate">{name}</span>
        </span>
        <Button
          variant="ghost"
          size="icon"
          aria-label={open ? "Close menu" : "Open menu"}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {open ? <X /> : <Menu />}
        </Button>
      </header>
      <aside
        className={cn(
          "flex-col gap-4 border-r bg-surface p-3 lg:sticky lg:top-0 lg:flex lg:h-dvh lg:overflow-y-auto",
          open ? "flex" : "hidden",
          "big:hidden! print:hidden!",
        )}
      >
        <div className="hidden items-center gap-2 px-2 pt-1 text-lg font-semibold lg:flex">
          <img src="/dashboard/icon.svg" alt="" className="size-7" /> Comanda
        </div>
        {controls}
        <nav aria-label="Sections" className="grid gap-0.5">
          {sections.map(({ to, label, icon: Icon, badge = 0 }) => (
            <Link
              key={to}
              to={to}
              onClick={close}
              className={item}
              activeProps={active}
              aria-description={badge > 0 ? badge.toLocaleString() : undefined}
            >
              <Icon className="size-4" aria-hidden /> {label}
              {badge > 0 && (
                <span
                  aria-hidden
                  className="ml-auto rounded-full bg-danger/15 px-2 text-xs font-semibold text-foreground tabular-nums"
                >
                  {badge.toLocaleString()}
                </span>
              )}
            </Link>
          ))}
        </nav>
        <div className="mt-auto grid gap-2 border-t pt-3 text-sm">
          <p className="px-2 wrap-anywhere">
            {user.name}
            <span className="block text-xs text-muted-foreground">{position}</span>
            <span className="block text-xs text-muted-foreground">{user.email}</span>
          </p>
          <Link to="/security" onClick={close} className={item} activeProps={active}>
            <ShieldCheck className="size-4" aria-hidden /> Security
          </Link>
          <div className="flex gap-1">
            <LogOutButton />
            <ThemeSwitch />
          </div>
        </div>
      </aside>
      <main
        id="main"
        tabIndex={-1}
        className="mx-auto w-full max-w-6xl min-w-0 p-4 outline-none lg:p-6 big:max-w-none big:p-3"
      >
        <ConnectionBanner />
        {children}
      </main>
    </div>
  );
}

function LogOutButton() {
  const { logOut } = useAccount();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  async function end() {
    setBusy(true);
    try {
      await logOut();
    } catch (error) {
      toast(`You are still logged in. ${errorMessage(error)}`, { error: true });
      setBusy(false);
    }
  }
  return (
    <Button variant="ghost" size="small" busy={busy} onClick={() => void end()}>
      <LogOut aria-hidden /> Log out
    </Button>
  );
}

/** Says that the browser is offline or the service does not respond. */
function ConnectionBanner() {
  const connected = useConnected();
  return (
    <div role="status">
      {!connected && (
        <p className="mb-4 flex items-center gap-2 rounded-md border border-danger/40 bg-surface p-3 text-sm">
          <WifiOff className="size-4 shrink-0 text-danger" aria-hidden />
          <span>
            <strong>No connection.</strong> This page may be out of date, and changes are not saved. It updates as soon
            as the connection returns.
          </span>
        </p>
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
      aria-label={dark ? "Use light theme" : "Use dark theme"}
      onClick={() => {
        localStorage.setItem("comanda.theme", dark ? "light" : "dark");
        setDark(!dark);
      }}
    >
      {dark ? <Sun /> : <Moon />}
    </Button>
  );
}
