import { useState } from "react";

import { Choice } from "@/ui/choice";
import { Card } from "@/ui/page";
import { CodeBlock } from "@/ui/text";

import go from "./receivers/receiver.go.txt?raw";
import node from "./receivers/receiver.js.txt?raw";
import python from "./receivers/receiver.py.txt?raw";

/** Whole programs that verify what a webhook sends, as the README has them. */
export const snippets = { go, node, python };

type Language = keyof typeof snippets;

/** A program that takes what is posted to a URL. */
export function receiverOf(language: Language, url: string): string {
  if (language !== "go") return snippets[language]; // which take every path
  let path = "/";
  try {
    path = new URL(url).pathname;
  } catch {
    // Not one that a browser can read: any path will do.
  }
  return go.replace('"/hook"', () => JSON.stringify(path));
}

export function Snippets({ url }: { url: string }) {
  const [language, setLanguage] = useState<Language>("go");
  return (
    <Card
      title="Verify what arrives"
      actions={<Choice label="Language" value={language} options={{ go: "Go", node: "Node", python: "Python" }} onChange={setLanguage} />}
    >
      <p className="mb-3 max-w-prose text-sm text-muted-foreground">
        Every request is signed with the secret of this webhook. This program lets in nothing else: give it the secret as <code>WEBHOOK_SECRET</code>, a{" "}
        <code>PORT</code> to listen on, and a proxy in front that speaks HTTPS for <span className="break-all">{url}</span>.
      </p>
      <CodeBlock text={receiverOf(language, url)} label={`Receiver in ${{ go: "Go", node: "Node", python: "Python" }[language]}`} />
    </Card>
  );
}
