import { Toast } from "radix-ui";
import { type ReactNode, createContext, use, useCallback, useState } from "react";

import { cn } from "./cn";

type Message = { id: number; text: string; bad: boolean };

const Context = createContext<(text: string, options?: { bad?: boolean }) => void>(() => {});

/** Shows a short message that goes by itself. */
export const useToast = () => use(Context);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const show = useCallback((text: string, options?: { bad?: boolean }) => {
    setMessages((all) => [...all.slice(-3), { id: Date.now() + Math.random(), text, bad: options?.bad ?? false }]);
  }, []);
  return (
    <Context value={show}>
      <Toast.Provider swipeDirection="right" duration={5000}>
        {children}
        {messages.map((message) => (
          <Toast.Root
            key={message.id}
            onOpenChange={(open) => open || setMessages((all) => all.filter((other) => other.id !== message.id))}
            className={cn("rounded-md border bg-surface p-3 text-sm shadow-md", message.bad && "border-danger text-danger")}
          >
            <Toast.Description>{message.text}</Toast.Description>
          </Toast.Root>
        ))}
        <Toast.Viewport className="fixed right-4 bottom-4 z-60 grid w-80 max-w-[calc(100vw-2rem)] gap-2" />
      </Toast.Provider>
    </Context>
  );
}
