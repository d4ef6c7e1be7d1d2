import type { Range } from "@/domain/zone";
import { TextField } from "@/ui/field";

/** The first and the last day of a report, with the fault of a range that it cannot show. */
export function RangeFields({
  range,
  error,
  latest,
  choose,
}: {
  range: Range;
  error?: string;
  /** The latest first day that can be chosen. */
  latest: string;
  choose: (change: Partial<Range>) => void;
}) {
  return (
    <>
      <TextField
        label="First day"
        type="date"
        required
        value={range.from}
        max={latest}
        onChange={(event) => event.target.value && choose({ from: event.target.value })}
      />
      <TextField
        label="Last day"
        type="date"
        required
        value={range.to}
        onChange={(event) => event.target.value && choose({ to: event.target.value })}
      />
      {error && (
        <p role="alert" className="text-sm text-danger sm:pb-2">
          {error}
        </p>
      )}
    </>
  );
}
