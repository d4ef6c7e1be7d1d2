import { Select } from "./field";

type Props<T extends string> = {
  label: string;
  all: string;
  value: T | undefined;
  options: Record<T, string>;
  onChange: (value: T | undefined) => void;
};

/** A select that filters a list by one value; `all` is the label of the option without a filter. */
export const Filter = <T extends string>({ label, all, value, options, onChange }: Props<T>) => (
  <Select
    aria-label={label}
    value={value ?? ""}
    onChange={(event) => onChange((event.target.value || undefined) as T | undefined)}
  >
    <option value="">{all}</option>
    {(Object.entries(options) as [T, string][]).map(([one, text]) => (
      <option key={one} value={one}>
        {text}
      </option>
    ))}
  </Select>
);
