/** Navigation: pages, waiting approvals, signing in and out, and the theme. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { PAGES } from "./pages.tsx";
import { Button } from "./parts/controls.tsx";
import { Brand, Icon } from "./parts/icons.tsx";
import { forgetDraft } from "./runs/draft.ts";
import { isAnonymous, signOut, wantsKey } from "./server/access.ts";
import { storedText } from "./server/storage.ts";
import { waitingApprovals } from "./server/waiting-approvals.ts";

const ENTRIES = PAGES.flatMap(({ path, entry }) => {
  if (entry === null) return [];
  const [group, label, icon] = entry;
  return [{ path, group, label, icon }];
});
const GROUPS = Object.entries(Object.groupBy(ENTRIES, ({ group }) => group));

const THEMES = { system: "Match system", light: "Light", dark: "Dark" } as const;
type Theme = keyof typeof THEMES;
const storedTheme = storedText(() => localStorage, "cyrnel.theme");
const keptTheme = storedTheme.read() ?? "";
const theme = signal<Theme>(Object.hasOwn(THEMES, keptTheme) ? (keptTheme as Theme) : "system");
applyTheme(theme.value);

function applyTheme(next: Theme): void {
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
}

function chooseTheme(next: Theme): void {
  theme.value = next;
  applyTheme(next);
  storedTheme.write(next);
}

export function Navigation() {
  const [location] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const waiting = waitingApprovals.value ?? 0;
  const here = ENTRIES.find(({ path }) => location === path || location.startsWith(`${path}/`)) ?? ENTRIES[0];

  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${here?.label} · Cyrnel`;
  }, [waiting, here]);
  useEffect(() => setOpen(false), [location]);

  return (
    <nav class="nav" aria-label="Pages" data-open={isOpen}>
      <Brand />
      {waiting > 0 && !isOpen ? (
        // Shown on narrow screens, where the list is collapsed.
        <a
          class="chip wait plain badge nav-toggle"
          href="#/approvals"
          aria-label={`Approvals: ${waiting} waiting`}
        >
          {waiting}
        </a>
      ) : null}
      <Button
        look="quiet nav-toggle"
        icon="menu"
        label="Menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <div class="nav-body">
        {GROUPS.map(([title, entries]) => (
          <div class="nav-group" key={title}>
            <p class="nav-title">{title}</p>
            <ul>
              {entries.map((entry) => (
                <li key={entry.path}>
                  <a
                    class="nav-link"
                    href={`#${entry.path}`}
                    aria-current={entry === here ? "page" : undefined}
                  >
                    <Icon name={entry.icon} />
                    {entry.label}
                    {entry.path === "/approvals" && waiting > 0 ? (
                      <span class="chip wait plain badge">
                        {waiting}
                        <span class="visually-hidden"> waiting</span>
                      </span>
                    ) : null}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <Foot />
      </div>
    </nav>
  );
}

function Foot() {
  const askForKey = () => {
    wantsKey.value = true;
  };
  const leave = () => {
    signOut();
    forgetDraft();
  };
  return (
    <div class="nav-foot">
      <select
        value={theme.value}
        onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
        aria-label="Theme"
      >
        {Object.entries(THEMES).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <a href="./docs" target="_blank" rel="noreferrer" class="row">
        <Icon name="terminal" size={14} /> HTTP API
      </a>
      {isAnonymous.value ? (
        <Button look="small" icon="key-round" onClick={askForKey}>
          Sign in
        </Button>
      ) : (
        <Button look="small" icon="log-out" onClick={leave}>
          Sign out
        </Button>
      )}
    </div>
  );
}
