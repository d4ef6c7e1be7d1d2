import { useMutation } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";

import { api, data, fieldErrors, newIdempotencyKey } from "@/api/client";
import { useInvalidate } from "@/api/queries";
import { type Product, nameIn } from "@/domain/products";
import { useSession } from "@/session/session";
import { useToast } from "@/ui/toast";

import { type Draft, createRequest, draftErrors, draftOf } from "./draft";
import {
  type GroupDraft,
  type GroupErrors,
  type Views,
  errorsIn,
  groupErrors,
  groupsRequest,
  refusedGroups,
} from "./groups";
import type { Difference } from "./merge";
import { Changed, saveChange } from "./save";

/** Returns the currencies and locales of the store's views, those of the default view first. */
function useViews(): Views {
  const { store, defaultView } = useSession();
  return useMemo(() => {
    const views = [defaultView, ...(store?.storeViews ?? [])];
    return {
      currencies: [...new Set(views.map((view) => view.currency))],
      locales: [...new Set(views.map((view) => view.locale))],
    };
  }, [store, defaultView]);
}

export type ProductForm = ReturnType<typeof useProductForm>;

/** The state of the form that adds a product or, if one is given, changes it. It calls onSaved after a success. */
export function useProductForm(product: Product | undefined, onSaved: () => void) {
  const views = useViews();
  const invalidate = useInvalidate();
  const toast = useToast();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [initial] = useState<Draft>(() => draftOf(product, views));
  const [base, setBase] = useState(product); // the version to which the draft applies
  const [draft, setDraft] = useState(initial);
  const [differences, setDifferences] = useState<Difference[]>([]);
  const [refused, setRefused] = useState<GroupErrors>({});
  const [attempts, setAttempts] = useState(0); // to submit
  const [openGroup, setOpenGroup] = useState<string | null>(null);
  const setGroups = useCallback(
    (change: (groups: GroupDraft[]) => GroupDraft[]) =>
      setDraft((before) => ({ ...before, groups: change(before.groups) })),
    [],
  );
  const save = useMutation({
    mutationFn: () =>
      base
        ? saveChange(base, draft, views)
        : data(
            api.POST("/products", {
              params: { header: { "Idempotency-Key": idempotencyKey } },
              body: createRequest(draft),
            }),
          ),
    onSuccess: (saved) => {
      toast(`${nameIn(saved, views.locales[0]!)} ${product ? "saved" : "added"}`);
      onSaved();
    },
    onError: (error) => {
      if (error instanceof Changed) {
        setBase(error.current);
        setDraft(error.draft);
        setDifferences(error.differences);
        return;
      }
      setDifferences([]);
      const found = refusedGroups(error, draft.groups, draft.currency);
      setRefused(found);
      showFirst(found);
    },
    onSettled: () => invalidate("products"),
  });
  const errors = useMemo(() => draftErrors(draft), [draft]);
  const shownGroupErrors = useMemo(
    () => (attempts > 0 ? { ...refused, ...groupErrors(draft.groups, draft.currency) } : refused),
    [attempts, refused, draft.groups, draft.currency],
  );
  const refusedField = fieldErrors(save.error);

  /** Opens the first group with an error. */
  function showFirst(found: GroupErrors) {
    const wrong = draft.groups.filter((group) => errorsIn(found, group) > 0);
    if (wrong.length > 0 && !wrong.some(({ key }) => key === openGroup)) setOpenGroup(wrong[0]!.key);
    setAttempts((n) => n + 1);
  }
  // Moves the focus to the first invalid field, once it is rendered.
  useEffect(() => {
    if (attempts > 0) document.querySelector<HTMLElement>("[role=dialog] [aria-invalid]")?.focus();
  }, [attempts]);

  return {
    views,
    draft,
    set: (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })),
    setGroups,
    /** The key of the group whose options are visible. */
    openGroup,
    setOpenGroup,
    /** The changes of another user. */
    differences,
    /** Replaces the draft by the current version of the product. */
    discard: () => {
      setDraft(draftOf(base, views));
      setDifferences([]);
    },
    isDirty: useMemo(() => requested(draft) !== requested(initial), [draft, initial]),
    submit: () => {
      setRefused({});
      if (Object.keys(errors).length === 0) save.mutate();
      else showFirst(errors);
    },
    saving: { isPending: save.isPending, error: save.error instanceof Changed ? null : save.error },
    /** Returns the error of a member of the request. The draft is checked after the first attempt to submit it. */
    errorOf: (path: string) => (attempts > 0 ? errors[path] : undefined) ?? refusedField(path),
    groupErrors: shownGroupErrors,
  };
}

/** Returns the entries of a draft as text, for comparison. */
const requested = ({ groups, ...fields }: Draft) =>
  JSON.stringify([fields, groupsRequest(groups, fields.currency), groups.map(({ options }) => options.map(pricesOf))]);

const pricesOf = ({ prices, max }: GroupDraft["options"][number]) => [prices, max];
