import { ChevronDown, ChevronRight, Copy, EllipsisVertical, Plus } from "lucide-react";
import { type ReactNode, memo, useCallback, useState } from "react";

import * as limits from "@/api/limits";
import { Button } from "@/ui/button";
import { Checkbox, Field, Input, TextField } from "@/ui/field";
import { Menu, MenuItem } from "@/ui/menu";
import { Badge } from "@/ui/page";

import {
  type GroupDraft,
  type GroupErrors,
  type NameDraft,
  type OptionDraft,
  type Views,
  copyOf,
  errorsIn,
  maxGroups,
  maxOptions,
  moved,
  newGroup,
  newOption,
  ruleOf,
  shownName,
} from "./groups";
import { Sortable, SortableEntry } from "./sortable";

type Update = (change: (groups: GroupDraft[]) => GroupDraft[]) => void;

type Props = {
  groups: GroupDraft[];
  /** The currency of the product. */
  own: string;
  views: Views;
  errors: GroupErrors;
  /** The key of the group whose options are visible. The others are closed, so that 2,000 options stay usable. */
  open: string | null;
  onOpen: (key: string | null) => void;
  onChange: Update;
  onCopy: () => void;
  onDragging: (dragging: boolean) => void;
};

/** Edits the option groups of a product and their order. */
export function OptionGroups({ groups, own, views, errors, open, onOpen, onChange, onCopy, onDragging }: Props) {
  const full = groups.length >= maxGroups;
  const nameOf = (key: string) => shownName(groups.find((group) => group.key === key)!) || "new group";
  const move = (from: number, to: number) => onChange((all) => moved(all, from, to));
  const changeGroup = useCallback(
    (key: string, change: (group: GroupDraft) => GroupDraft) =>
      onChange((all) => all.map((group) => (group.key === key ? change(group) : group))),
    [onChange],
  );
  return (
    <fieldset className="grid min-w-0 gap-2 sm:col-span-2">
      <legend className="mb-2 text-sm font-semibold">Options</legend>
      {groups.length === 0 && (
        <p className="text-sm text-muted-foreground">
          Groups of options appear here, for example sizes or extras. Customers choose from each group.
        </p>
      )}
      <Sortable ids={groups.map(({ key }) => key)} nameOf={nameOf} onMove={move} onDragging={onDragging}>
        <ol className="grid gap-2">
          {groups.map((group, i) => {
            const name = shownName(group) || "new group";
            const wrong = errorsIn(errors, group);
            return (
              <SortableEntry
                key={group.key}
                id={group.key}
                name={name}
                className="min-w-0 rounded-md border bg-surface"
              >
                {(handle) => (
                  <>
                    <div className="flex min-w-0 items-center gap-1 p-1">
                      {handle}
                      <button
                        type="button"
                        aria-expanded={open === group.key}
                        onClick={() => onOpen(open === group.key ? null : group.key)}
                        className="flex min-h-9 min-w-0 flex-1 items-center gap-2 text-left pointer-coarse:min-h-11"
                      >
                        {open === group.key ? (
                          <ChevronDown className="size-4 shrink-0" aria-hidden />
                        ) : (
                          <ChevronRight className="size-4 shrink-0" aria-hidden />
                        )}
                        <span className="min-w-0">
                          <span className="block truncate text-sm font-medium">{name}</span>
                          <span className="block text-xs text-muted-foreground">
                            {ruleOf(group)} · {group.options.length} {group.options.length === 1 ? "option" : "options"}
                          </span>
                        </span>
                        {wrong > 0 && (
                          <Badge tone="bad" className="ml-auto shrink-0">
                            {wrong} {wrong === 1 ? "error" : "errors"}
                          </Badge>
                        )}
                      </button>
                      <MoveMenu name={name} index={i} count={groups.length} onMove={move}>
                        <MenuItem
                          disabled={full}
                          onSelect={() =>
                            onChange((all) => [...all.slice(0, i + 1), copyOf(all[i]!), ...all.slice(i + 1)])
                          }
                        >
                          Duplicate
                        </MenuItem>
                        <MenuItem
                          className="text-danger"
                          onSelect={() => onChange((all) => all.filter(({ key }) => key !== group.key))}
                        >
                          Remove
                        </MenuItem>
                      </MoveMenu>
                    </div>
                    {open === group.key && (
                      <GroupFields
                        group={group}
                        own={own}
                        views={views}
                        errors={errors}
                        onChange={changeGroup}
                        onDragging={onDragging}
                      />
                    )}
                  </>
                )}
              </SortableEntry>
            );
          })}
        </ol>
      </Sortable>
      <div className="flex flex-wrap gap-2">
        <Button
          variant="outline"
          size="small"
          disabled={full}
          onClick={() => {
            const added = newGroup(views);
            onChange((all) => [...all, added]);
            onOpen(added.key);
          }}
        >
          <Plus aria-hidden /> Add group
        </Button>
        <Button variant="outline" size="small" disabled={full} onClick={onCopy}>
          <Copy aria-hidden /> Copy from a product
        </Button>
        {full && <p className="self-center text-xs text-muted-foreground">A product has at most {maxGroups} groups.</p>}
      </div>
    </fieldset>
  );
}

type MoveProps = {
  name: string;
  index: number;
  count: number;
  onMove: (from: number, to: number) => void;
  children: ReactNode;
};

/** The menu of an entry: moves it without dragging, and further actions. */
const MoveMenu = ({ name, index, count, onMove, children }: MoveProps) => (
  <Menu
    label={`Actions of ${name}`}
    trigger={
      <Button variant="ghost" size="icon" className="shrink-0" aria-label={`Actions of ${name}`}>
        <EllipsisVertical />
      </Button>
    }
  >
    <MenuItem disabled={index === 0} onSelect={() => onMove(index, index - 1)}>
      Move up
    </MenuItem>
    <MenuItem disabled={index === count - 1} onSelect={() => onMove(index, index + 1)}>
      Move down
    </MenuItem>
    {children}
  </Menu>
);

const language = (locale: string) => (locale === "" ? "other languages" : locale);

type NamesProps = {
  entry: NameDraft & { key: string };
  kind: string;
  errors: GroupErrors;
  onChange: (change: Partial<NameDraft>) => void;
};

/** Returns the change that sets the text of a locale, or the name itself for "". */
const textChange = (entry: NameDraft, locale: string, text: string): Partial<NameDraft> =>
  locale === "" ? { name: text } : { texts: { ...entry.texts, [locale]: text } };

const textOf = (entry: NameDraft, locale: string) => (locale === "" ? entry.name : entry.texts[locale]!);

const errorOf = (errors: GroupErrors, key: string, locale: string) =>
  errors[locale === "" ? `${key}.name` : `${key}.texts.${locale}`];

/** The name in each language except the one that staff read. */
const OtherNames = ({ entry, kind, errors, onChange }: NamesProps) => (
  <>
    {["", ...Object.keys(entry.texts)]
      .filter((locale) => locale !== entry.shown)
      .map((locale) => (
        <TextField
          key={locale}
          label={`${kind}, ${language(locale)}`}
          maxLength={limits.OptionTextRequest.name.maxLength}
          placeholder={shownName(entry)}
          value={textOf(entry, locale)}
          onChange={(event) => onChange(textChange(entry, locale, event.target.value))}
          error={errorOf(errors, entry.key, locale)}
        />
      ))}
  </>
);

type GroupProps = {
  group: GroupDraft;
  own: string;
  views: Views;
  errors: GroupErrors;
  onChange: (key: string, change: (group: GroupDraft) => GroupDraft) => void;
  onDragging: (dragging: boolean) => void;
};

function GroupFields({ group, own, views, errors, onChange, onDragging }: GroupProps) {
  const { key, options } = group;
  const set = (change: Partial<GroupDraft>) => onChange(key, (before) => ({ ...before, ...change }));
  const changeOptions = useCallback(
    (change: (options: OptionDraft[]) => OptionDraft[]) =>
      onChange(key, (before) => ({ ...before, options: change(before.options) })),
    [key, onChange],
  );
  const nameOf = (id: string) => shownName(options.find((option) => option.key === id)!) || "new option";
  const count = (member: "min" | "max", label: string) => (
    <TextField
      label={label}
      inputMode="numeric"
      maxLength={3}
      value={group[member]}
      onChange={(event) => set({ [member]: event.target.value })}
      error={errors[`${key}.${member}`]}
    />
  );
  return (
    <div className="grid gap-3 border-t p-3">
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-[1fr_7rem_7rem]">
        <TextField
          className="col-span-2 sm:col-span-1"
          label="Group name"
          autoFocus={shownName(group) === ""}
          maxLength={limits.OptionGroupRequest.name.maxLength}
          value={shownName(group)}
          onChange={(event) => set(textChange(group, group.shown, event.target.value))}
          error={errorOf(errors, key, group.shown)}
        />
        {count("min", "Minimum")}
        {count("max", "Maximum")}
        <OtherNames entry={group} kind="Group name" errors={errors} onChange={set} />
      </div>
      {errors[`${key}.options`] && <p className="text-xs text-danger">{errors[`${key}.options`]}</p>}
      <div className="-mb-2 flex gap-1 text-xs text-muted-foreground" aria-hidden>
        <span className="ml-10 flex-1 pointer-coarse:ml-12">Option</span>
        <span className="w-20 sm:w-24">Price in {own}</span>
        <span className="size-9 pointer-coarse:size-11" />
        <span className="size-9 max-sm:hidden pointer-coarse:size-11" />
      </div>
      <Sortable
        ids={options.map((option) => option.key)}
        nameOf={nameOf}
        onMove={(from, to) => changeOptions((all) => moved(all, from, to))}
        onDragging={onDragging}
      >
        <ol className="grid gap-1">
          {options.map((option, i) => (
            <OptionRow
              key={option.key}
              option={option}
              index={i}
              count={options.length}
              own={own}
              errors={errorsOfOption(errors, option.key)}
              onChange={changeOptions}
            />
          ))}
        </ol>
      </Sortable>
      <div>
        <Button
          variant="outline"
          size="small"
          disabled={options.length >= maxOptions}
          onClick={() => changeOptions((all) => [...all, newOption(views)])}
        >
          <Plus aria-hidden /> Add option
        </Button>
      </div>
    </div>
  );
}

const noErrors: GroupErrors = {};

/** Returns the errors of one option. Without errors it is always the same object, so that its row is not rendered. */
function errorsOfOption(errors: GroupErrors, key: string): GroupErrors {
  const own = Object.entries(errors).filter(([path]) => path.startsWith(`${key}.`));
  return own.length > 0 ? Object.fromEntries(own) : noErrors;
}

type OptionProps = {
  option: OptionDraft;
  index: number;
  count: number;
  own: string;
  errors: GroupErrors;
  onChange: (change: (options: OptionDraft[]) => OptionDraft[]) => void;
};

/** A row with the name and the price. Its details have the other languages and currencies. */
const OptionRow = memo(function OptionRow({ option, index, count, own, errors, onChange }: OptionProps) {
  const [detailed, setDetailed] = useState(false);
  const { key } = option;
  const set = (change: Partial<OptionDraft>) =>
    onChange((all) => all.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const name = shownName(option) || "new option";
  const price = (currency: string) => ({
    value: option.prices[currency],
    inputMode: "decimal" as const,
    onChange: (event: { target: { value: string } }) =>
      set({ prices: { ...option.prices, [currency]: event.target.value } }),
  });
  const shownErrors = [errorOf(errors, key, option.shown), errors[`${key}.prices.${own}`]].filter(Boolean);
  const hidden = Object.keys(errors).length > shownErrors.length;
  const open = detailed || hidden;
  return (
    <SortableEntry id={key} name={name} className="rounded-md bg-surface">
      {(handle) => (
        <div className="grid gap-2">
          <div className="flex items-start gap-1">
            {handle}
            <div className="min-w-0 flex-1">
              <Input
                aria-label="Option name"
                autoFocus={shownName(option) === "" && index > 0 && index === count - 1}
                maxLength={limits.ProductOptionRequest.name.maxLength}
                value={shownName(option)}
                aria-invalid={errorOf(errors, key, option.shown) ? true : undefined}
                onChange={(event) => set(textChange(option, option.shown, event.target.value))}
                className={option.isAvailable ? undefined : "line-through"}
              />
            </div>
            <Input
              aria-label={`Price of ${name} in ${own}`}
              aria-invalid={errors[`${key}.prices.${own}`] ? true : undefined}
              className="w-20 shrink-0 text-right sm:w-24"
              {...price(own)}
            />
            <Button
              variant="ghost"
              size="icon"
              className="shrink-0 max-sm:hidden"
              aria-label={`Details of ${name}`}
              aria-expanded={open}
              onClick={() => setDetailed(!open)}
            >
              {open ? <ChevronDown /> : <ChevronRight />}
            </Button>
            <MoveMenu
              name={name}
              index={index}
              count={count}
              onMove={(from, to) => onChange((all) => moved(all, from, to))}
            >
              <MenuItem onSelect={() => setDetailed(!open)}>{open ? "Hide details" : "Show details"}</MenuItem>
              <MenuItem onSelect={() => set({ isAvailable: !option.isAvailable })}>
                {option.isAvailable ? "Make unavailable" : "Make available"}
              </MenuItem>
              <MenuItem
                className="text-danger"
                onSelect={() => onChange((all) => all.filter((one) => one.key !== key))}
              >
                Remove
              </MenuItem>
            </MoveMenu>
          </div>
          {shownErrors.map((error) => (
            <p key={error} className="pl-10 text-xs text-danger">
              {error}
            </p>
          ))}
          {open && (
            <div className="mb-2 ml-10 grid grid-cols-2 gap-3 border-l pl-3 sm:grid-cols-3">
              {Object.keys(option.prices)
                .filter((currency) => currency !== own)
                .map((currency) => (
                  <Field
                    key={currency}
                    label={`Price in ${currency}`}
                    error={errors[`${key}.prices.${currency}`]}
                    hint={option.prices[currency]!.trim() ? undefined : `Not offered in ${currency}.`}
                  >
                    {(ids) => <Input {...ids} {...price(currency)} />}
                  </Field>
                ))}
              <TextField
                label="At most per unit"
                inputMode="numeric"
                maxLength={3}
                value={option.max}
                onChange={(event) => set({ max: event.target.value })}
                error={errors[`${key}.max`]}
              />
              <OtherNames entry={option} kind="Name" errors={errors} onChange={set} />
              <Checkbox
                className="col-span-full"
                label="Available for orders"
                checked={option.isAvailable}
                onChange={(event) => set({ isAvailable: event.target.checked })}
              />
            </div>
          )}
        </div>
      )}
    </SortableEntry>
  );
});
