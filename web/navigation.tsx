/** Where to go, what waits, and who is here. */

import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { Brand } from "./parts/brand.tsx";
import {
  Activity,
  Blocks,
  Gauge,
  type Icon,
  Inbox,
  KeyRound,
  ListOrdered,
  LogOut,
  Menu,
  Play,
  ScrollText,
  Shapes,
  ShieldCheck,
  Terminal,
  UserCog,
} from "./parts/icons.tsx";
import { forgetDraft } from "./runs/draft.ts";
import { waitingApprovals } from "./server/waiting-approvals.ts";
import { isAnonymous, signOut, wantsKey } from "./session/access.ts";
import { chooseTheme, THEMES, type Theme, theme } from "./session/theme.ts";

interface Entry {
  path: string;
  label: string;
  icon: Icon;
}

const GROUPS: readonly { title: string; entries: readonly Entry[] }[] = [
  {
    title: "Work",
    entries: [
      { path: "/run", label: "Run", icon: Play },
      { path: "/processes", label: "Processes", icon: Activity },
      { path: "/services", label: "Services", icon: Shapes },
      { path: "/approvals", label: "Approvals", icon: Inbox },
    ],
  },
  {
    title: "Rules",
    entries: [
      { path: "/policies", label: "Policies", icon: ListOrdered },
      { path: "/roles", label: "Roles", icon: UserCog },
      { path: "/keys", label: "Keys", icon: KeyRound },
      { path: "/audit", label: "Audit", icon: ShieldCheck },
    ],
  },
  {
    title: "Server",
    entries: [
      { path: "/logs", label: "Logs", icon: ScrollText },
      { path: "/modules", label: "Modules", icon: Blocks },
      { path: "/system", label: "System", icon: Gauge },
    ],
  },
];

export function Navigation() {
  const [location] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const waiting = waitingApprovals.value ?? 0;
  const at = location === "/" ? "/run" : location;
  const here = GROUPS.flatMap(({ entries }) => entries).find(
    ({ path }) => at === path || at.startsWith(`${path}/`),
  );

  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${here?.label ?? "Run"} · Cyrnel`;
  }, [waiting, here]);
  useEffect(() => setOpen(false), [location]);

  return (
    <nav class="nav" aria-label="Views" data-open={isOpen}>
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
        {GROUPS.map(({ title, entries }) => (
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
