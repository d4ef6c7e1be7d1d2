import { Settings2 } from "lucide-react";
import { useState } from "react";

import { Button } from "@/ui/button";
import { Dialog, DialogActions } from "@/ui/dialog";
import { Checkbox, Field, SelectField, TextField } from "@/ui/field";

import { type DeviceSettings, changeDeviceSettings, useDeviceSettings } from "./device";
import { allowSound, ring } from "./sound";

/** Opens the settings of the board on this device. */
export function BoardSettings() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button variant="outline" aria-label="Board settings" title="Board settings" onClick={() => setOpen(true)}>
        <Settings2 aria-hidden />
      </Button>
      {open && <SettingsDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const set = changeDeviceSettings;

function SettingsDialog({ onClose }: { onClose: () => void }) {
  const settings = useDeviceSettings();
  return (
    <Dialog onClose={onClose} title="Board settings" description="These settings apply to this device immediately.">
      <Checkbox
        label="Play a sound until each new order is accepted"
        checked={settings.sound}
        onChange={(event) => {
          set({ sound: event.target.checked });
          if (event.target.checked) void allowSound();
        }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={`Volume: ${settings.volume} %`}>
          {(ids) => (
            <input
              {...ids}
              type="range"
              min={0}
              max={100}
              step={10}
              className="h-9 w-full accent-primary"
              value={settings.volume}
              onChange={(event) => set({ volume: Number(event.target.value) })}
            />
          )}
        </Field>
        <NumberField label="Repeat after seconds" name="repeatSeconds" min={2} max={120} />
      </div>
      <Button variant="outline" onClick={() => void allowSound().then(() => ring("order", settings.volume))}>
        Play the sound
      </Button>
      <Notifications />
      <NumberField label="Minutes of warning before the promised time" name="warnMinutes" min={1} max={60} />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Print when you accept an order"
          hint="The browser asks for a printer, unless it runs in kiosk printing mode."
          value={settings.print}
          onChange={(event) => set({ print: event.target.value as DeviceSettings["print"] })}
        >
          <option value="nothing">Nothing</option>
          <option value="slip">Kitchen slip</option>
          <option value="receipt">Receipt</option>
          <option value="both">Kitchen slip and receipt</option>
        </SelectField>
        <SelectField
          label="Paper"
          value={settings.paper}
          onChange={(event) => set({ paper: event.target.value as DeviceSettings["paper"] })}
        >
          <option value="80mm">80 mm roll</option>
          <option value="A4">A4</option>
        </SelectField>
      </div>
      <DialogActions>
        <Button onClick={onClose}>Done</Button>
      </DialogActions>
    </Dialog>
  );
}

/** A number that applies as soon as it is within its bounds. */
function NumberField({
  label,
  name,
  min,
  max,
}: {
  label: string;
  name: "repeatSeconds" | "warnMinutes";
  min: number;
  max: number;
}) {
  const settings = useDeviceSettings();
  const [text, setText] = useState(String(settings[name]));
  const valid = /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;
  return (
    <TextField
      label={label}
      inputMode="numeric"
      value={text}
      error={valid ? undefined : `Enter a number from ${min} to ${max}`}
      onChange={(event) => {
        const next = event.target.value.trim();
        setText(next);
        if (/^\d+$/.test(next) && Number(next) >= min && Number(next) <= max) set({ [name]: Number(next) });
      }}
    />
  );
}

function Notifications() {
  const { notify } = useDeviceSettings();
  const [permission, setPermission] = useState(() => ("Notification" in window ? Notification.permission : "denied"));
  const allow = async () => {
    const next = await Notification.requestPermission();
    setPermission(next);
    set({ notify: next === "granted" });
  };
  return (
    <div className="grid gap-1">
      <Checkbox
        label="Show a notification of new orders while this page is in the background"
        checked={notify && permission === "granted"}
        disabled={permission === "denied"}
        onChange={(event) => {
          if (event.target.checked) void allow();
          else set({ notify: false });
        }}
      />
      {permission === "denied" && (
        <p className="text-xs text-muted-foreground">
          The browser blocks notifications of this site. Allow them in the settings of the browser.
        </p>
      )}
    </div>
  );
}
