// Set the theme before the page is rendered, so that it never flashes in the wrong colours: in report and explorer alike.
(() => {
  const root = document.documentElement;
  const media = matchMedia("(prefers-color-scheme: dark)");
  // A report may be written for one theme; the reader's own choice still goes first.
  const given = root.dataset.theme;
  const chosen = () => {
    try {
      return localStorage.getItem("goldrank-theme");
    } catch {
      return null; // Without storage, the theme of the system is used.
    }
  };
  const usual = () => given ?? (media.matches ? "dark" : "light");
  const use = (theme) => {
    root.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  };
  const apply = () => use(chosen() ?? usual());
  media.addEventListener("change", apply);
  globalThis.goldrankTheme = {
    current: () => root.dataset.theme,
    toggle() {
      const next = this.current() === "dark" ? "light" : "dark";
      try {
        // A choice that equals the theme of the page is removed, so that the page follows the system again.
        if (next === usual()) localStorage.removeItem("goldrank-theme");
        else localStorage.setItem("goldrank-theme", next);
      } catch {
        // The choice lasts as long as the page.
      }
      use(next);
    },
    /** Let a button switch the theme, and say what it does. */
    connect(button) {
      const label = () => {
        const dark = this.current() === "dark";
        button.textContent = dark ? "☀" : "☾";
        button.title = dark ? "Use light colours" : "Use dark colours";
        button.setAttribute("aria-label", button.title);
      };
      button.hidden = false;
      button.addEventListener("click", () => this.toggle());
      document.addEventListener("themechange", label);
      label();
    },
  };
  apply();
})();
