/** Where to go, what waits, and who is signed in. */
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { PAGES } from "./pages.tsx";
import { Brand } from "./parts/brand.tsx";
import { KeyRound, LogOut, Menu, Terminal } from "./parts/icons.tsx";
import { forgetDraft } from "./runs/draft.ts";
import { waitingApprovals } from "./server/waiting-approvals.ts";
import { isAnonymous, signOut, wantsKey } from "./session/access.ts";
import { chooseTheme, THEMES, type Theme, theme } from "./session/theme.ts";

const ENTRIES = PAGES.flatMap(({ path, entry }) => (entry === null ? [] : [{ path, ...entry }]));
const GROUPS = Object.entries(Object.groupBy(ENTRIES, ({ group }) => group));

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
      {waiting > 0 && !isOpen ? <WaitingBadge count={waiting} /> : null}
      <button
        type="button"
        class="button quiet icon nav-toggle"
        aria-label="Menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Menu />
      </button>
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
                    <entry.icon />
                    {entry.label}
                    {entry.path === "/approvals" && waiting > 0 ? (
                      <span class="badge">
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

/** On narrow screens, where the list is folded away. */
function WaitingBadge({ count }: { count: number }) {
  return (
    <a class="badge nav-toggle" href="#/approvals" aria-label={`Approvals: ${count} waiting`}>
      {count}
    </a>
  );
}

function leave(): void {
  signOut();
  forgetDraft();
}

function Foot() {
  return (
    <div class="nav-foot">
      <label>
        <span class="visually-hidden">Theme</span>
        <select
          value={theme.value}
          onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
          aria-label="Theme"
        >
          {THEMES.map((name) => (
            <option key={name} value={name}>
              {name === "system" ? "Theme of the system" : name === "light" ? "Light" : "Dark"}
            </option>
          ))}
        </select>
      </label>
      <a href="./docs" target="_blank" rel="noreferrer" class="row">
        <Terminal size={14} /> HTTP API
      </a>
      {isAnonymous.value ? (
        <button
          type="button"
          class="button small"
          onClick={() => {
            wantsKey.value = true;
          }}
        >
          <KeyRound /> Sign in with a key
        </button>
      ) : (
        <button type="button" class="button small" onClick={leave}>
          <LogOut /> Sign out
        </button>
      )}
    </div>
  );
}
