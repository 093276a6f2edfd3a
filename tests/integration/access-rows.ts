/** What every route of the document is about, and which scope opens it: the rows of access-matrix.test.ts. */
import type { Scope } from "#api/http/auth.ts";

/** Resource of a route: one process, one service, one tool, a list of those, or nothing that has an owner. */
type About = "process" | "service" | "tool" | "processes" | "services" | "tools" | "nothing";

/** `opens`: the scope without which it answers 403; null: any key; "public": no key at all. */
interface Row {
  about: About;
  opens: Scope | null | "public";
  /** What is sent where something of the caller's own is meant to be done. */
  json?: unknown;
  /** Its answer has no end, or takes the server's own time. */
  isStream?: true;
}

const READ = "processes:read";
const WRITE = "processes:write";
const PATCH = [{ op: "add", path: "/a", value: 1 }];

export const ROWS: Readonly<Record<string, Row>> = {
  "GET /health": { about: "nothing", opens: "public" },
  "GET /health/live": { about: "nothing", opens: "public" },
  "GET /health/ready": { about: "nothing", opens: "public" },
  "GET /metrics": { about: "nothing", opens: "logs:read" },
  "GET /environment": { about: "nothing", opens: null },
  "GET /environment/docs": { about: "nothing", opens: null },
  "GET /replicas": { about: "nothing", opens: "logs:read" },

  "GET /processes": { about: "processes", opens: READ },
  "POST /processes": { about: "nothing", opens: WRITE },
  "GET /processes/stream": { about: "nothing", opens: READ, isStream: true },
  "GET /processes/{id}": { about: "process", opens: READ },
  "DELETE /processes/{id}": { about: "process", opens: WRITE },
  "GET /processes/{id}/code": { about: "process", opens: READ },
  "GET /processes/{id}/output": { about: "process", opens: READ },
  "GET /processes/{id}/stdout": { about: "process", opens: READ },
  "GET /processes/{id}/stderr": { about: "process", opens: READ },
  "GET /processes/{id}/calls": { about: "process", opens: READ },
  "GET /processes/{id}/events": { about: "process", opens: READ, isStream: true },
  "GET /processes/{id}/artifacts": { about: "process", opens: READ },
  // Of the process as well; none of the processes here has left a file, or was given one.
  "GET /processes/{id}/artifacts/{name}": { about: "nothing", opens: READ },
  "GET /processes/{id}/files/{name}": { about: "nothing", opens: READ },
  "GET /processes/{id}/artifacts.tar": { about: "process", opens: READ },
  "POST /processes/{id}/signals/run": { about: "process", opens: WRITE, json: { block: true } },
  "POST /processes/{id}/signals/kill": { about: "process", opens: WRITE },

  "GET /files": { about: "nothing", opens: READ },
  "POST /files": { about: "nothing", opens: WRITE },
  "GET /files/{id}": { about: "nothing", opens: READ },
  "DELETE /files/{id}": { about: "nothing", opens: WRITE },
  "GET /files/{id}/content": { about: "nothing", opens: READ },

  "GET /packages": { about: "nothing", opens: null },
  "POST /packages": { about: "nothing", opens: "packages:admin" },
  "GET /packages/{name}/{version}": { about: "nothing", opens: null },
  "GET /packages/{name}/{version}/types": { about: "nothing", opens: null },
  "DELETE /packages/{name}/{version}": { about: "nothing", opens: "packages:admin" },
  "GET /package-installations": { about: "nothing", opens: "packages:admin" },
  "GET /package-installations/{id}": { about: "nothing", opens: "packages:admin" },

  "GET /tools": { about: "tools", opens: null },
  "GET /tools/types.d.ts": { about: "tools", opens: null },
  "GET /tools/{serviceId}/{toolId}": { about: "tool", opens: null },
  "GET /tools/{serviceId}/{toolId}/docs": { about: "tool", opens: null },
  "POST /tools/{serviceId}/{toolId}/enabled": {
    about: "tool",
    opens: "services:admin",
    json: { enabled: false },
  },
  "POST /tools/{serviceId}/{toolId}/invoke": { about: "tool", opens: WRITE, json: {} },

  "GET /services": { about: "services", opens: null },
  "POST /services": { about: "nothing", opens: "services:admin" },
  "POST /services/install": { about: "nothing", opens: "services:admin" },
  "POST /services/preview": { about: "nothing", opens: "services:admin" },
  "GET /services/{id}": { about: "service", opens: null },
  "PATCH /services/{id}": { about: "service", opens: "services:admin", json: { content: "{}" } },
  "DELETE /services/{id}": { about: "service", opens: "services:admin" },
  "POST /services/{id}/update": { about: "service", opens: "services:admin" },
  "POST /services/{id}/sync": { about: "service", opens: "services:admin" },
  "POST /services/{id}/enabled": { about: "service", opens: "services:admin", json: { enabled: false } },
  "GET /services/{id}/config": { about: "service", opens: "services:admin" },
  "PATCH /services/{id}/config": { about: "service", opens: "services:admin", json: PATCH },
  "GET /services/{id}/config/schema": { about: "service", opens: null },
  "GET /services/{id}/secrets": { about: "service", opens: "services:admin" },
  "PATCH /services/{id}/secrets": { about: "service", opens: "services:admin", json: PATCH },
  "GET /services/{id}/secrets/schema": { about: "service", opens: null },

  "GET /modules": { about: "nothing", opens: null },
  "POST /modules": { about: "nothing", opens: "modules:admin" },
  "POST /modules/install": { about: "nothing", opens: "modules:admin" },
  "POST /modules/reload": { about: "nothing", opens: "modules:admin" },
  "GET /modules/{id}": { about: "nothing", opens: null },
  "PATCH /modules/{id}": { about: "nothing", opens: "modules:admin" },
  "DELETE /modules/{id}": { about: "nothing", opens: "modules:admin" },
  "POST /modules/{id}/update": { about: "nothing", opens: "modules:admin" },
  "POST /modules/{id}/enabled": { about: "nothing", opens: "modules:admin" },
  "GET /modules/{id}/config": { about: "nothing", opens: null },
  "PATCH /modules/{id}/config": { about: "nothing", opens: "modules:admin" },
  "GET /modules/{id}/config/schema": { about: "nothing", opens: null },
  "GET /modules/{id}/secrets": { about: "nothing", opens: "modules:admin" },
  "PATCH /modules/{id}/secrets": { about: "nothing", opens: "modules:admin" },
  "GET /modules/{id}/secrets/schema": { about: "nothing", opens: null },

  // A key that decides has to see what every process asks; what a role hides of it is tested with the approvals.
  "GET /approvals": { about: "nothing", opens: "approvals:decide" },
  "GET /approvals/stream": { about: "nothing", opens: "approvals:decide", isStream: true },
  "GET /approvals/{id}": { about: "nothing", opens: "approvals:decide" },
  "POST /approvals/{id}/approve": { about: "nothing", opens: "approvals:decide" },
  "POST /approvals/{id}/deny": { about: "nothing", opens: "approvals:decide" },

  "GET /keys": { about: "nothing", opens: "keys:admin" },
  "POST /keys": { about: "nothing", opens: "keys:admin" },
  "DELETE /keys/{id}": { about: "nothing", opens: "keys:admin" },
  "GET /roles": { about: "nothing", opens: "keys:admin" },
  "POST /roles": { about: "nothing", opens: "keys:admin" },
  "GET /roles/{id}": { about: "nothing", opens: "keys:admin" },
  "PATCH /roles/{id}": { about: "nothing", opens: "keys:admin" },
  "DELETE /roles/{id}": { about: "nothing", opens: "keys:admin" },
  "GET /policies": { about: "nothing", opens: "keys:admin" },
  "POST /policies": { about: "nothing", opens: "keys:admin" },
  "GET /policies/preview": { about: "nothing", opens: "keys:admin" },
  "PUT /policies/order": { about: "nothing", opens: "keys:admin" },
  "PATCH /policies/{id}": { about: "nothing", opens: "keys:admin" },
  "DELETE /policies/{id}": { about: "nothing", opens: "keys:admin" },

  "GET /audit": { about: "nothing", opens: "logs:read" },
  "GET /audit/export": { about: "nothing", opens: "logs:read" },
  "GET /logs": { about: "nothing", opens: "logs:read" },
  "GET /logs/stream": { about: "nothing", opens: "logs:read", isStream: true },
};
