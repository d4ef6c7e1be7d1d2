import { ComandaError } from "@comanda/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, data, ifMatch } from "@/api/client";
import { queries, useInvalidate } from "@/api/queries";
import { useSession } from "@/session/session";
import { useToast } from "@/ui/toast";

import { type Change, type Fields, type Settings, changeOf, changedFields, fieldsOf, rebase } from "./change";

/** The user's changes: `fields` differ from `base`, the fields of the settings that were read with `version`. */
type Edit = { version: number; base: Fields; fields: Fields; conflicts: string[] };

/** Returns an edit of newer settings with the changes of an earlier edit. */
function moved({ base, fields }: Edit, newer: Settings, currencies: string[]): Edit {
  const theirs = fieldsOf(newer, currencies);
  return { version: newer.version, base: theirs, ...rebase(base, fields, theirs) };
}

/** Returns the edit of settings. Newer settings replace the fields that the user has not changed. */
export function useEdit(settings: Settings) {
  const { store, locale } = useSession();
  const views = store?.storeViews ?? [];
  const currencies = [
    ...new Set([...views.map((view) => view.currency), ...Object.keys(settings.deliveryFees)]),
  ].sort();
  const [edit, setEdit] = useState<Edit>(() => {
    const base = fieldsOf(settings, currencies);
    return { version: settings.version, base, fields: base, conflicts: [] };
  });
  if (settings.version > edit.version) setEdit(moved(edit, settings, currencies));
  const { change, errors } = changeOf(edit.base, edit.fields, locale);
  return {
    ...edit,
    change,
    errors,
    currencies,
    dirty: changedFields(edit.base, edit.fields).length > 0,
    set: (changed: Fields) => setEdit((before) => ({ ...before, fields: { ...before.fields, ...changed } })),
    discard: () => setEdit((before) => ({ ...before, fields: before.base, conflicts: [] })),
    move: (newer: Settings) => {
      setEdit((before) => moved(before, newer, currencies)); // the user may have typed meanwhile
      const next = moved(edit, newer, currencies);
      return { ...next, ...changeOf(next.base, next.fields, locale) };
    },
  };
}

/** Thrown if somebody else has changed the same fields. */
export class Conflict extends Error {}

const patchSettings = (body: Change, version: number) =>
  data(api.PATCH("/settings", { body, params: { header: ifMatch({ version }) } }));

const isOutdated = (error: unknown) => error instanceof ComandaError && error.code === "VERSION_MISMATCH";

/** Returns the mutation that saves an edit. */
export function useSave(edit: ReturnType<typeof useEdit>, onSaved: () => void) {
  const client = useQueryClient();
  const invalidate = useInvalidate();
  const toast = useToast();
  return useMutation({
    mutationFn: async () => {
      try {
        return await patchSettings(edit.change, edit.version);
      } catch (error) {
        if (!isOutdated(error)) throw error;
      }
      // Somebody else has saved other settings meanwhile. Their fields stay unless the user has changed the same ones.
      const newer = await data(api.GET("/settings"));
      const next = edit.move(newer);
      if (next.conflicts.length > 0) throw new Conflict();
      return Object.keys(next.change).length === 0 ? newer : patchSettings(next.change, next.version);
    },
    onSuccess: (changed) => {
      toast("Settings saved");
      onSaved();
      client.setQueryData(queries.settings.queryKey, changed);
      void invalidate("settings");
    },
  });
}
