import { Toast } from "radix-ui";
import { type ReactNode, createContext, use, useCallback, useState } from "react";

import { errorMessage } from "@/api/error-message";

import { cn } from "./cn";

type Message = { id: number; text: string; error: boolean };

const Context = createContext<(text: string, options?: { error?: boolean }) => void>(() => {});

/** Returns a function that shows a message for five seconds. */
export const useToast = () => use(Context);

/** Returns a function that shows why a change failed. */
export function useErrorToast() {
  const toast = useToast();
  return useCallback((error: unknown) => toast(errorMessage(error), { error: true }), [toast]);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const show = useCallback((text: string, options?: { error?: boolean }) => {
    setMessages((all) => [...all.slice(-3), { id: Date.now() + Math.random(), text, error: options?.error ?? false }]);
  }, []);
  return (
    <Context value={show}>
      <Toast.Provider swipeDirection="right" duration={5000}>
        {children}
        {messages.map((message) => (
          <Toast.Root
            key={message.id}
            onOpenChange={(open) => open || setMessages((all) => all.filter((other) => other.id !== message.id))}
            className={cn(
              "rounded-md border bg-surface p-3 text-sm shadow-md",
              message.error && "border-danger text-danger",
            )}
          >
            <Toast.Description>{message.text}</Toast.Description>
          </Toast.Root>
        ))}
        <Toast.Viewport
          className={cn(
            "fixed inset-x-2 top-2 z-60 grid gap-2 sm:left-auto sm:w-80",
            "lg:top-auto lg:right-auto lg:bottom-4 lg:left-4 lg:w-52",
          )}
        />
      </Toast.Provider>
    </Context>
  );
}
