import { type Ordering, orderings } from "@/domain/webhooks";
import { SelectField } from "@/ui/field";

type Props = { ordering: Ordering; onChange: (ordering: Ordering) => void; error?: string };

/** The order of a webhook's deliveries. */
export const OrderingField = ({ ordering, onChange, error }: Props) => (
  <SelectField
    label="Order of deliveries"
    hint={orderings[ordering].advice}
    error={error}
    value={ordering}
    onChange={(event) => onChange(event.target.value as Ordering)}
  >
    {Object.entries(orderings).map(([value, { label }]) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </SelectField>
);
