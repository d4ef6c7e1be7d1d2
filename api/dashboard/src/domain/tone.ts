/** The tone in which a word is shown: how good or bad the state is that it names. */
export type Tone = "neutral" | "good" | "bad" | "warn" | "accent";
