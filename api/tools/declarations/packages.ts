/** Declares the installed packages, one line each, so that importing them is no type error. Pure. */

export interface DeclaredPackage {
  name: string;
  version: string;
  /** Must be a single line: further lines would be read as TypeScript. */
  description: string;
}

const MAX_LISTED = 500;

/**
 * Returns the declarations, or an empty string without packages. TypeScript uses such a pattern only if it finds no
 * file, so packages in `node_modules` keep their own declarations.
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
