import type { ComponentProps } from "react";

import { CreateWebhookRequest } from "@/api/limits";
import { TextField } from "@/ui/field";

/** The field for the description of a webhook. */
export const DescriptionField = (props: Omit<ComponentProps<typeof TextField>, "label">) => (
  <TextField
    label="Description"
    name="description"
    {...CreateWebhookRequest.description}
    placeholder="Point of sale"
    hint="What the webhook is for. Staff sees it beside an order."
    {...props}
  />
);
