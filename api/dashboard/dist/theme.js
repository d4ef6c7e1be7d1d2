// Sets the theme before the first paint, so that the page does not flash in the wrong theme.
(() => {
  const chosen = localStorage.getItem("comanda.theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
})();
