import { Link } from "@tanstack/react-router";

import { link } from "@/ui/link";

/** A link to the order of an event. */
export const OrderLink = ({ id }: { id: string }) => (
  <Link to="/orders/$id" params={{ id }} className={link}>
    Open order
  </Link>
);
