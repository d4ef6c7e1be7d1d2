import type { ComponentProps } from "react";

import { CreateWebhookRequest } from "@/api/limits";
import { TextField } from "@/ui/field";

/** The field for the URL of a webhook. */
export const URLField = (props: Omit<ComponentProps<typeof TextField>, "label">) => (
  <TextField
    label="URL"
    name="url"
    type="url"
    {...CreateWebhookRequest.url}
    pattern="https://.*"
    title="A URL that starts with https://"
    {...props}
  />
);
