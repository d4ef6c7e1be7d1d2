import { ImageOff } from "lucide-react";
import { useState } from "react";

import { useSettled } from "@/ui/search";

/** Reports whether the API would take a text as the URL of an image. */
const isHttps = (text: string) => URL.canParse(text) && new URL(text).protocol === "https:";

/** Shows the image of a URL, or that it cannot be loaded. */
export function ImagePreview({ url }: { url: string }) {
  const settled = useSettled(url.trim(), 500);
  if (!isHttps(settled)) return null;
  return <Loaded key={settled} url={settled} />;
}

function Loaded({ url }: { url: string }) {
  const [state, setState] = useState<"loading" | "shown" | "broken">("loading");
  if (state === "broken") {
    return (
      <p role="alert" className="flex items-center gap-2 rounded-md border border-dashed p-3 text-sm text-danger">
        <ImageOff className="size-4 shrink-0" aria-hidden /> The image cannot be loaded. Check the URL.
      </p>
    );
  }
  return (
    <img
      src={url}
      alt="Preview"
      referrerPolicy="no-referrer"
      onLoad={() => setState("shown")}
      onError={() => setState("broken")}
      className="h-32 max-w-full rounded-md border object-contain"
    />
  );
}
