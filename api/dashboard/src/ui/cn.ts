import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Joins class names. Of two conflicting Tailwind classes, the later wins. */
export const cn = (...classes: ClassValue[]) => twMerge(clsx(classes));
