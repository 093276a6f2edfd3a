/**
 * The module contract: types, zod schemas and constants, and how JSON keeps large integers. Published as @cyrnel/sdk.
 * Imports nothing of the server. A module written against these members loads unchanged.
 */
export * from "./adapter.ts";
export * from "./environment.ts";
export * from "./exact-json.ts";
export * from "./module.ts";
