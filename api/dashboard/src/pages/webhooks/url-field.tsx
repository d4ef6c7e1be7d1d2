import type { ComponentProps } from "react";

import { TextField } from "@/ui/field";

/** The address of a receiver. */
export const URLField = (props: Omit<ComponentProps<typeof TextField>, "label">) => (
  <TextField label="URL" name="url" type="url" required maxLength={2048} pattern="https://.*" title="An address that begins with https://" {...props} />
);
