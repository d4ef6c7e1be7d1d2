import { useEffect } from "react";

const product = "Comanda";
let name: string | undefined;
let count = 0;

function show() {
  document.title = `${count > 0 ? `(${count}) ` : ""}${name ? `${name} · ${product}` : product}`;
}

/** Sets the number of new orders, which precedes the title of each page. */
export function setTitleCount(next: number) {
  count = next;
  show();
}

/** Sets the title of the document while the component is mounted. */
export function useTitle(title: string | undefined) {
  useEffect(() => {
    if (title === undefined) return;
    name = title;
    show();
    return () => {
      name = undefined;
      show();
    };
  }, [title]);
}
