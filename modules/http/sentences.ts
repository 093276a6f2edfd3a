/** Describes what a rule allows, for the operator who enables it. */
import type { Auth, Rule } from "./rules.ts";
import { isDestructive } from "./rules.ts";

export function describeRule(rule: Rule): string[] {
  const { name, auth, headers, maxRequestBytes, maxResponseBytes } = rule;
  const insecure = rule.origins.filter((origin) => origin.startsWith("http:"));
  const fixed = Object.entries(headers);
  return [
    `Scripts may send ${listWords(rule.methods, "and")} requests to ${listWords(rule.origins, "and")}, to ${describePaths(rule)}.`,
    isDestructive(rule)
      ? "Such requests may change or delete something there."
      : "By the HTTP standard such requests only read.",
    auth === undefined
      ? "No credential is sent."
      : `The secret ${JSON.stringify(name)} of this service is sent with each request, ${describeAuth(auth)}; it is removed from answers.`,
    ...(insecure.length === 0
      ? []
      : [
          `Requests to ${listWords(insecure, "and")} are not encrypted: the network can read and change them.`,
        ]),
    ...(fixed.length === 0
      ? []
      : [
          `Each request carries the ${fixed.length === 1 ? "header" : "headers"} ${listWords(
            fixed.map(([header, value]) => `${header}: ${JSON.stringify(value)}`),
            "and",
          )}.`,
        ]),
    `Request bodies: ${describeBytes(maxRequestBytes)}; answers: ${describeBytes(maxResponseBytes)}.`,
    rule.redirects === "none"
      ? "Redirects are not followed; the script sees them."
      : "Redirects on the same origin are followed if this rule allows the next request; the script sees any other.",
  ];
}

function describePaths({ pathPrefix }: Rule): string {
  if (pathPrefix === "/") return "any path";
  return pathPrefix.endsWith("/") ? `paths below ${pathPrefix}` : `${pathPrefix} and paths below it`;
}

function describeAuth(auth: Auth): string {
  switch (auth.type) {
    case "bearer":
      return "as Authorization: Bearer";
    case "basic":
      return "as user name and password (Authorization: Basic)";
    case "header":
      return `in the header ${auth.name}`;
    case "query":
      return `in the URL's parameter ${JSON.stringify(auth.name)}`;
  }
}

function describeBytes(bytes: number): string {
  if (bytes === 0) return "nothing";
  const units: [number, string][] = [
    [1024 * 1024, "MiB"],
    [1024, "KiB"],
  ];
  const [size, unit] = units.find(([size]) => bytes % size === 0) ?? [1, "bytes"];
  return `up to ${bytes / size} ${unit}`;
}

export function listWords(words: readonly string[], last: "and" | "or"): string {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1) as string}`;
}
