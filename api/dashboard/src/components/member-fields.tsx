import { TextField } from "@/ui/field";

type Limits = Record<"email" | "name", { required: boolean; maxLength: number }>;

type Props = { limits: Limits; fieldError: (member: string) => string | undefined };

/** The email address and the name of a user who is invited. */
export const MemberFields = ({ limits, fieldError }: Props) => (
  <>
    <TextField
      label="Email"
      name="email"
      type="email"
      {...limits.email}
      autoComplete="off"
      error={fieldError("email")}
    />
    <TextField label="Name" name="name" {...limits.name} autoComplete="off" error={fieldError("name")} />
  </>
);
