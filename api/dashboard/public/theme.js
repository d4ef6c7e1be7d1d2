// Before the first paint, so that nobody in the dark is flashed at.
(() => {
  const chosen = localStorage.getItem("comanda.theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
})();
