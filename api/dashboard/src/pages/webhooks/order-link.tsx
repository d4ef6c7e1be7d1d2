import { Link } from "@tanstack/react-router";

/** A link to the order of an event. */
export const OrderLink = ({ id }: { id: string }) => (
  <Link to="/orders/$id" params={{ id }} className="text-primary underline-offset-4 hover:underline">
    Open order
  </Link>
);
