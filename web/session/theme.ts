/** Light, dark, or as the system has it; kept in this browser. */
import { signal } from "@preact/signals";

const STORED_AS = "cyrnel.theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(read());
apply(theme.value);

export function chooseTheme(next: Theme): void {
  theme.value = next;
  apply(next);
  try {
    localStorage.setItem(STORED_AS, next);
  } catch {
    // Without storage it holds until the next load.
  }
}

function apply(next: Theme): void {
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
}

function read(): Theme {
  try {
    return THEMES.find((known) => known === localStorage.getItem(STORED_AS)) ?? "system";
  } catch {
    return "system";
  }
}
