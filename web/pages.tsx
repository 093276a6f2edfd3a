/**
 * All console pages, one per line: path, component, and navigation entry. A page without an entry belongs to the
 * entry that its path begins with. Path parameters are passed as the page's properties.
 */
import type { ComponentType } from "preact";
import { lazy } from "preact/compat";
import type { StringRouteParams } from "wouter-preact";
import type { IconName } from "./parts/icons.tsx";
import RunPage from "./runs/run-page.tsx";
import { returns, waitForServer } from "./server/connection.ts";

type Entry = readonly [group: "Work" | "Access" | "Server", label: string, icon: IconName];

export interface Page {
  path: string;
  View: ComponentType<Record<string, string>>;
  entry: Entry | null;
}

/** Page without a navigation entry. Loaded when it is first shown. */
function page<P extends string>(path: P, load: () => Promise<{ default: View<P> }>): Page {
  return { path, View: lazy(() => loadPatiently(load)) as Page["View"], entry: null };
}

type View<P extends string> = ComponentType<StringRouteParams<P>>;

/** Page with a navigation entry, under its group's heading. */
function entry(
  ...[group, label, icon, path, load]: [...Entry, string, () => Promise<{ default: ComponentType }>]
): Page {
  return { ...page(path, load), entry: [group, label, icon] };
}

/** Retries once the server is reachable again. */
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

/** In navigation order. The first path that matches an address is used. */
export const PAGES: readonly Page[] = [
  // The start page is bundled with the frame.
  { path: "/run", View: RunPage, entry: ["Work", "Editor", "play"] },
  entry("Work", "Runs", "activity", "/processes", () => import("./processes/processes-page.tsx")),
  page("/processes/compare/:one/:other", () => import("./processes/compare-page.tsx")),
  page("/processes/:id", () => import("./processes/process-page.tsx")),
  entry("Work", "Services", "shapes", "/services", () => import("./services/services-page.tsx")),
  page("/services/new", () => import("./services/install-page.tsx")),
  page("/services/:id/tools/:toolId", () => import("./services/tool-page.tsx")),
  page("/services/:id/:tab?", () => import("./services/service-page.tsx")),
  entry("Work", "Approvals", "inbox", "/approvals", () => import("./approvals/approvals-page.tsx")),
  entry("Access", "Rules", "list-ordered", "/policies", () => import("./governance/policies-page.tsx")),
  entry("Access", "Roles", "user-cog", "/roles", () => import("./governance/roles-page.tsx")),
  entry("Access", "Keys", "key-round", "/keys", () => import("./governance/keys-page.tsx")),
  entry("Access", "Audit", "shield-check", "/audit", () => import("./governance/audit-page.tsx")),
  entry("Server", "Logs", "scroll-text", "/logs", () => import("./operations/logs-page.tsx")),
  entry("Server", "Modules", "blocks", "/modules", () => import("./modules/modules-page.tsx")),
  page("/modules/:id", () => import("./modules/module-page.tsx")),
  entry("Server", "Packages", "package", "/packages", () => import("./packages/packages-page.tsx")),
  page("/packages/:name/:version", () => import("./packages/package-page.tsx")),
  entry("Server", "System", "gauge", "/system", () => import("./operations/system-page.tsx")),
  { path: "*", View: RunPage, entry: null },
];
