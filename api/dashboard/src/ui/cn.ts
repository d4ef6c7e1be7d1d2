import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

/** Joins class names; of two that say the same thing the later counts. */
export const cn = (...classes: ClassValue[]) => twMerge(clsx(classes));
