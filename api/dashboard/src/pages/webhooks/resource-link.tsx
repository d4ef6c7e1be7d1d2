import { Link } from "@tanstack/react-router";

import { partsOf } from "@/domain/events";
import { link } from "@/ui/link";

/** The resource of an event, such as order/ord_1, with a link to its page. Products and reservations have no page. */
export function ResourceLink({ resource }: { resource: string | null }) {
  if (resource === null) return <span className="text-muted-foreground">none</span>;
  const { kind, id } = partsOf(resource);
  const text = <code className="text-xs break-all">{resource}</code>;
  if (kind === "order")
    return (
      <Link to="/orders/$id" params={{ id }} className={link}>
        {text}
      </Link>
    );
  if (kind === "customer")
    return (
      <Link to="/customers/$id" params={{ id }} className={link}>
        {text}
      </Link>
    );
  return text;
}
