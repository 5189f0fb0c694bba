// Set the theme before the page is rendered, so that it never flashes in the wrong colours.
(() => {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("goldrank-theme");
    } catch {
      return null; // Without storage, the theme of the system is used.
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
        // A choice that equals the theme of the system is removed, so that the page follows the system again.
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
