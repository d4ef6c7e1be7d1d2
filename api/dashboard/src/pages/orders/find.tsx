import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from "react";

import { api } from "@/api/client";
import { Input } from "@/ui/field";
import { useErrorToast } from "@/ui/toast";

/** Finds an order from every page. Its number opens the order; another text opens the list of matching orders. */
export function FindOrder() {
  const field = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  const showError = useErrorToast();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);

  const focus = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if ((event.target as HTMLElement).closest("input, textarea, select, [role=dialog], [role=menu]")) return;
    if (!field.current?.offsetParent) return; // hidden on a narrow screen
    event.preventDefault();
    field.current.select();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => focus(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);

  async function find(event: FormEvent) {
    event.preventDefault();
    const q = text.trim().replace(/^#\s*/, "");
    if (!q || busy) return;
    setBusy(true);
    try {
      const { data: orders } = await api.GET("/orders", { params: { query: { q, limit: 20 } } });
      const order = orders.find(({ orderId }) => orderId === q);
      setText("");
      if (order) void navigate({ to: "/orders/$id", params: { id: order.id } });
      else void navigate({ to: "/orders", search: { view: "all", q } });
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form role="search" aria-label="Orders" className="relative" onSubmit={(event) => void find(event)}>
      <Search
        className="pointer-events-none absolute inset-y-0 left-2.5 my-auto size-4 text-muted-foreground"
        aria-hidden
      />
      <Input
        ref={field}
        type="search"
        enterKeyHint="search"
        aria-label="Find an order"
        aria-keyshortcuts="/"
        placeholder="Find an order ( / )"
        className="pl-8"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}
