// Sets the colours before anything is drawn, so that a page never flashes in the wrong ones.
(() => {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("goldrank-theme");
    } catch {
      return null; // Storage can be forbidden; the system's choice holds then.
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (media.matches ? "dark" : "light");
    document.dispatchEvent(new Event("themechange"));
  };
  media.addEventListener("change", apply);
  globalThis.goldrankTheme = {
    current: () => document.documentElement.dataset.theme,
    toggle() {
      const next = this.current() === "dark" ? "light" : "dark";
      try {
        // Who returns to the system's choice follows the system again.
        if (next === (media.matches ? "dark" : "light")) localStorage.removeItem("goldrank-theme");
        else localStorage.setItem("goldrank-theme", next);
      } catch {
        document.documentElement.dataset.theme = next;
        document.dispatchEvent(new Event("themechange"));
        return;
      }
      apply();
    },
  };
  apply();
})();
