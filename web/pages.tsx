/**
 * Every page of the console, a line each: its path, what shows it, and its entry in the navigation. A page without an entry
 * belongs to the entry that its path begins with. Parameters of the path are the properties of the page.
 */
import type { ComponentType } from "preact";
import { lazy } from "preact/compat";
import type { StringRouteParams } from "wouter-preact";
import {
  Activity,
  Blocks,
  Gauge,
  type Icon,
  Inbox,
  KeyRound,
  ListOrdered,
  Play,
  ScrollText,
  Shapes,
  ShieldCheck,
  UserCog,
} from "./parts/icons.tsx";
import RunPage from "./runs/run-page.tsx";
import { returns, waitForServer } from "./server/connection.ts";

export interface Entry {
  group: "Work" | "Rules" | "Server";
  label: string;
  icon: Icon;
}

export interface Page {
  path: string;
  View: ComponentType<Record<string, string>>;
  entry: Entry | null;
}

/** Without an entry in the navigation. Loaded when it is first shown. */
function page<P extends string>(path: P, load: () => Promise<{ default: View<P> }>): Page {
  return { path, View: lazy(() => loadPatiently(load)) as Page["View"], entry: null };
}

type View<P extends string> = ComponentType<StringRouteParams<P>>;

/** With one: `group` is its heading. */
function entry(
  group: Entry["group"],
  label: string,
  icon: Icon,
  path: string,
  load: () => Promise<{ default: ComponentType }>,
): Page {
  return { ...page(path, load), entry: { group, label, icon } };
}

/** Where the server is away, once it is back. */
async function loadPatiently<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const before = returns.peek();
    await waitForServer();
    if (returns.peek() === before) throw error;
    return loadPatiently(load);
  }
}

/** In the order of the navigation. The first path that fits an address is taken. */
export const PAGES: readonly Page[] = [
  // The one that people see first comes with the frame.
  { path: "/run", View: RunPage, entry: { group: "Work", label: "Run", icon: Play } },
  entry("Work", "Processes", Activity, "/processes", () => import("./processes/processes-page.tsx")),
  page("/processes/compare/:one/:other", () => import("./processes/compare-page.tsx")),
  page("/processes/:id", () => import("./processes/process-page.tsx")),
  entry("Work", "Services", Shapes, "/services", () => import("./services/services-page.tsx")),
  page("/services/new", () => import("./services/install-page.tsx")),
  page("/services/:id/tools/:toolId", () => import("./services/tool-page.tsx")),
  page("/services/:id/:tab?", () => import("./services/service-page.tsx")),
  entry("Work", "Approvals", Inbox, "/approvals", () => import("./approvals/approvals-page.tsx")),
  entry("Rules", "Policies", ListOrdered, "/policies", () => import("./governance/policies-page.tsx")),
  entry("Rules", "Roles", UserCog, "/roles", () => import("./governance/roles-page.tsx")),
  entry("Rules", "Keys", KeyRound, "/keys", () => import("./governance/keys-page.tsx")),
  entry("Rules", "Audit", ShieldCheck, "/audit", () => import("./governance/audit-page.tsx")),
  entry("Server", "Logs", ScrollText, "/logs", () => import("./operations/logs-page.tsx")),
  entry("Server", "Modules", Blocks, "/modules", () => import("./modules/modules-page.tsx")),
  page("/modules/:id", () => import("./modules/module-page.tsx")),
  entry("Server", "System", Gauge, "/system", () => import("./operations/system-page.tsx")),
  { path: "*", View: RunPage, entry: null },
];
