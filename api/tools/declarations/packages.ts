/** The installed packages in the document of declarations: one line each, so that a script that imports them is no mistake. Pure. */

export interface DeclaredPackage {
  name: string;
  version: string;
  /** One line: whatever else comes with it would be TypeScript. */
  description: string;
}

const MAX_LISTED = 500;

/**
 * A pattern counts only for what TypeScript finds no file of: with a package in `node_modules`, its own declarations are used. Empty
 * without packages.
 */
export function printPackages(packages: readonly DeclaredPackage[]): string {
  if (packages.length === 0) return "";
  const left = packages.length - MAX_LISTED;
  return [
    "",
    "// npm packages that a script may import. Their types are any, unless their declarations lie in node_modules:",
    "// GET /packages/<name>/<version>/types has them, and so has npm.",
    ...packages.slice(0, MAX_LISTED).map(printPackage),
    ...(left > 0 ? [`// And ${left} more: GET /packages.`] : []),
    "",
  ].join("\n");
}

function printPackage({ name, version, description }: DeclaredPackage): string {
  const [exact, range] = [`${name}*`, `npm:${name}*`].map((pattern) => JSON.stringify(pattern));
  return `declare module ${exact}; declare module ${range}; // ${name} ${version}: ${description}`;
}
