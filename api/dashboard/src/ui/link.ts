/** The style of a link, and of a button that looks like one. */
export const link = "text-primary underline-offset-4 hover:underline";

/** The style of a link within a sentence. */
export const inlineLink = "text-primary underline";
