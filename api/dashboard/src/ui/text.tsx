import { CopyButton } from "./copy";

/** Indents JSON and returns other text unchanged. Numbers and the order of members are kept as written. */
export function pretty(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let out = "";
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === "}" || token === "]") {
      depth--;
      out = /[{[]$/.test(out.trimEnd()) ? out.trimEnd() + token : out + line() + token;
    } else if (token === "{" || token === "[") {
      depth++;
      out += token + line();
    } else if (token === ",") {
      out += token + line();
    } else {
      out += token === ":" ? ": " : token;
    }
  }
  return out;
}

/** Preformatted text with a copy button. The content is never interpreted as HTML. */
export function CodeBlock({
  text,
  copy = text,
  label,
  className,
}: {
  text: string;
  /** The text that the button copies, if it is not the text that is shown. */
  copy?: string;
  label: string;
  className?: string;
}) {
  return (
    <div className={className}>
      <div className="flex items-center justify-between gap-2 rounded-t-md border border-b-0 bg-muted px-3 py-1.5">
        <span className="text-xs font-medium text-muted-foreground">{label}</span>
        <CopyButton text={copy} />
      </div>
      <pre
        className="max-h-96 overflow-auto rounded-b-md border p-3 text-xs break-words whitespace-pre-wrap"
        tabIndex={0}
        aria-label={label}
      >
        {text}
      </pre>
    </div>
  );
}
