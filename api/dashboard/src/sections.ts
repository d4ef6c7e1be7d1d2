import {
  Banknote,
  BarChart3,
  Calculator,
  CalendarDays,
  ClipboardList,
  CreditCard,
  Globe,
  KeyRound,
  LogIn,
  MailWarning,
  ScrollText,
  Settings,
  Store,
  Users,
  UtensilsCrossed,
  UserRound,
  Webhook,
} from "lucide-react";

import type { Role } from "@/domain/roles";

/** The sections in menu order, each with the lowest role that can open it. */
export const sections = [
  { to: "/orders", label: "Orders", icon: ClipboardList, role: "STAFF" },
  { to: "/reservations", label: "Reservations", icon: CalendarDays, role: "STAFF" },
  { to: "/payments", label: "Payments", icon: Banknote, role: "STAFF" },
  { to: "/cash-up", label: "Cash-up", icon: Calculator, role: "MANAGER" },
  { to: "/products", label: "Products", icon: UtensilsCrossed, role: "STAFF" },
  { to: "/customers", label: "Customers", icon: UserRound, role: "MANAGER" },
  { to: "/analytics", label: "Analytics", icon: BarChart3, role: "ADMIN" },
  { to: "/webhooks", label: "Webhooks", icon: Webhook, role: "ADMIN" },
  { to: "/dead-letters", label: "Dead letters", icon: MailWarning, role: "ADMIN" },
  { to: "/store", label: "Store", icon: Store, role: "ADMIN" },
  { to: "/social-login", label: "Social login", icon: LogIn, role: "ADMIN" },
  { to: "/settings", label: "Settings", icon: Settings, role: "ADMIN" },
  { to: "/team", label: "Team", icon: Users, role: "OWNER" },
  { to: "/api-keys", label: "API keys", icon: KeyRound, role: "OWNER" },
  { to: "/plan", label: "Plan", icon: CreditCard, role: "OWNER" },
  { to: "/audit", label: "Audit trail", icon: ScrollText, role: "OWNER" },
] as const satisfies readonly { to: string; label: string; icon: unknown; role: Role }[];

/** The sections of the platform console in menu order. */
export const platformSections = [
  { to: "/platform/websites", label: "Websites", icon: Globe },
  { to: "/platform/audit", label: "Audit trail", icon: ScrollText },
] as const;
