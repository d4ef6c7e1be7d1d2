import { useState } from "react";

import { Choice } from "@/ui/choice";
import { Card } from "@/ui/page";
import { CodeBlock } from "@/ui/text";

import go from "./receivers/receiver.go.txt?raw";
import node from "./receivers/receiver.js.txt?raw";
import python from "./receivers/receiver.py.txt?raw";

/** Complete programs that verify webhook signatures. docs/integrate.md has the same programs. */
export const snippets = { go, node, python };

type Language = keyof typeof snippets;

/** Returns the program for a receiver at a URL. */
export function receiverOf(language: Language, url: string): string {
  if (language !== "go") return snippets[language]; // these accept every path
  let path = "/";
  try {
    path = new URL(url).pathname;
  } catch {
    // An unparsable URL: keep the default path.
  }
  return go.replace('"/hook"', () => JSON.stringify(path));
}

export function Snippets({ url }: { url: string }) {
  const [language, setLanguage] = useState<Language>("go");
  return (
    <Card
      title="Signature verification"
      actions={
        <Choice
          label="Language"
          value={language}
          options={{ go: "Go", node: "Node", python: "Python" }}
          onChange={setLanguage}
        />
      }
    >
      <p className="mb-3 max-w-prose text-sm text-muted-foreground">
        Every request is signed with the secret of this webhook. This program rejects all other requests. Set{" "}
        <code>WEBHOOK_SECRET</code> to the secret and <code>PORT</code> to the port to listen on, and run it behind an
        HTTPS proxy for <span className="break-all">{url}</span>.
      </p>
      <CodeBlock
        text={receiverOf(language, url)}
        label={`Receiver in ${{ go: "Go", node: "Node", python: "Python" }[language]}`}
      />
    </Card>
  );
}
