import {
  BarChart3,
  CalendarDays,
  ClipboardList,
  CreditCard,
  KeyRound,
  MailWarning,
  ScrollText,
  Settings,
  Users,
  UtensilsCrossed,
  UserRound,
  Webhook,
} from "lucide-react";

import type { Role } from "@/session/session";

/** What the dashboard shows, in the order of its menu, and from which role on. */
export const sections = [
  { to: "/orders", label: "Orders", icon: ClipboardList, role: "STAFF" },
  { to: "/reservations", label: "Reservations", icon: CalendarDays, role: "STAFF" },
  { to: "/products", label: "Products", icon: UtensilsCrossed, role: "STAFF" },
  { to: "/customers", label: "Customers", icon: UserRound, role: "MANAGER" },
  { to: "/analytics", label: "Analytics", icon: BarChart3, role: "ADMIN" },
  { to: "/webhooks", label: "Webhooks", icon: Webhook, role: "ADMIN" },
  { to: "/dead-letters", label: "Dead letters", icon: MailWarning, role: "ADMIN" },
  { to: "/settings", label: "Settings", icon: Settings, role: "ADMIN" },
  { to: "/team", label: "Team", icon: Users, role: "OWNER" },
  { to: "/api-keys", label: "API keys", icon: KeyRound, role: "OWNER" },
  { to: "/plan", label: "Plan", icon: CreditCard, role: "OWNER" },
  { to: "/audit", label: "Audit trail", icon: ScrollText, role: "OWNER" },
] as const satisfies readonly { to: string; label: string; icon: unknown; role: Role }[];
