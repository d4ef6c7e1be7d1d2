import { AlertTriangle } from "lucide-react";
import { useEffect, useRef } from "react";

import { Button } from "@/ui/button";
import { Columns, Table } from "@/ui/page";

import type { Difference } from "./merge";

type Props = { differences: Difference[]; onDiscard: () => void };

const shown = (text: string) => text || <span className="text-muted-foreground">empty</span>;

/** Shows the changes that another user has made while the form was open. The user's own entries stay in the form. */
export function Conflict({ differences, onDiscard }: Props) {
  const region = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void region.current?.scrollIntoView({ block: "nearest" });
  }, [differences]);
  return (
    <div ref={region} role="alert" className="grid gap-3 rounded-md border border-danger/40 p-3 text-sm sm:col-span-2">
      <p className="flex gap-2">
        <AlertTriangle className="size-4 shrink-0 translate-y-0.5 text-danger" aria-hidden />
        <span>
          <strong>Another user has changed this product.</strong> Fields that you have not edited now show the current
          values. Your own entries are kept: save again to apply them.
        </span>
      </p>
      <Table label="Changes by another user" stacked>
        <Columns names={["Field", "Before", "Now", "Your entry"]} />
        <tbody>
          {differences.map(({ label, before, now, yours }) => (
            <tr key={label}>
              <td className="font-medium">{label}</td>
              <td className="break-words">
                <span className="text-muted-foreground sm:hidden">Before: </span>
                {shown(before)}
              </td>
              <td className="break-words">
                <span className="text-muted-foreground sm:hidden">Now: </span>
                {shown(now)}
              </td>
              <td className="break-words">
                <span className="text-muted-foreground sm:hidden">Your entry: </span>
                {yours === undefined ? "–" : shown(yours)}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <div>
        <Button variant="outline" size="small" onClick={onDiscard}>
          Discard my entries
        </Button>
      </div>
    </div>
  );
}
