/** Value types of configuration variables: how each is parsed from text, and the message for an invalid one. */
import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { z } from "zod";
import { parseKeyMaterial } from "#api/config/key-material.ts";
import { type EgressEntry, parseEgressEntries } from "#api/egress/entries.ts";

export const MIN_KEY_CHARACTERS = 24;
export const MIN_KEY_DISTINCT_CHARACTERS = 10;

/** An integer written in digits; `12abc`, `1e3` and `0x10` are rejected. */
export function wholeNumber(min: number, max = 2_147_483_647) {
  return z
    .string()
    .trim()
    .regex(/^\d{1,16}$/, { error: `expected a whole number from ${min} to ${max}` })
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, { error: `expected ${min} or more` })
        .max(max, { error: `expected at most ${max}` }),
    );
}

/** Maps 0 to null, which means no limit. */
export function orNone(number: ReturnType<typeof wholeNumber>) {
  return number.transform((value) => value || null);
}

export const text = z.string().trim();

export const flag = z
  .string()
  .trim()
  .pipe(z.enum(["true", "false"], { error: "expected true or false" }))
  .transform((value) => value === "true");

export const apiKey = text
  .min(MIN_KEY_CHARACTERS, {
    error: `too short: expected ${MIN_KEY_CHARACTERS} characters or more (make one with: openssl rand -hex 32)`,
  })
  .max(500, { error: "too long: expected at most 500 characters" })
  .regex(/^[\x21-\x7e]*$/, { error: "expected printable ASCII without spaces" })
  .refine((key) => key.length < MIN_KEY_CHARACTERS || new Set(key).size >= MIN_KEY_DISTINCT_CHARACTERS, {
    error: `too easy to guess: expected ${MIN_KEY_DISTINCT_CHARACTERS} different characters or more (make one with: openssl rand -hex 32)`,
  });

export const databaseUrl = text.refine(isDatabaseUrl, {
  error:
    "expected postgres://user:password@host:5432/database (the value is not shown, it may hold a password)",
});

/** Folder without a trailing slash. */
export const bucketFolder = text
  .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/[A-Za-z0-9!_.*'()-]+){0,20}\/?$/, {
    error: "expected s3://bucket or s3://bucket/folder",
  })
  .transform((place) => place.replace(/\/$/, ""));

/** URL without user name, password, query and trailing slash. */
export const webAddress = text
  .refine(
    (address) => {
      if (!URL.canParse(address)) return false;
      const { protocol, username, password, search, hash } = new URL(address);
      return /^https?:$/.test(protocol) && username + password + search + hash === "";
    },
    { error: "expected an http or https address without user name, password and query" },
  )
  .transform((address) => address.replace(/\/$/, ""));

export const hostName = text.refine(
  (host) => isIP(host) > 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(host),
  {
    error: "expected an IP address or a host name, without scheme or port",
  },
);

export const secretsKey = text.transform((value, context) => {
  const parsed = parseKeyMaterial(value);
  if (parsed.ok) return parsed.key;
  context.addIssue({ code: "custom", message: parsed.problem });
  return z.NEVER;
});

export const secretsKeys = text.transform((list, context) => {
  const keys: KeyObject[] = [];
  for (const [index, value] of list.split(",").entries()) {
    const parsed = parseKeyMaterial(value);
    if (parsed.ok) keys.push(parsed.key);
    else context.addIssue({ code: "custom", message: `key ${index + 1}: ${parsed.problem}` });
  }
  return keys;
});

export const egressEntries = text.transform((list, context): readonly EgressEntry[] => {
  const { entries, problems } = parseEgressEntries(list);
  for (const message of problems) context.addIssue({ code: "custom", message });
  return entries;
});

export const collectorAddress = text.refine(
  (value) => URL.canParse(value) && ["http:", "https:"].includes(new URL(value).protocol),
  { error: "expected an http or https address such as http://collector:4318 (the value is not shown)" },
);

const HEADER = /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\x21-\x7e]*)\s*$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

export const collectorHeaders = text.transform((list, context): Readonly<Record<string, string>> => {
  const pairs: [string, string][] = [];
  for (const [index, part] of list.split(",").entries()) {
    const [, name = "", encoded = ""] = HEADER.exec(part) ?? [];
    const value = decodePercent(encoded);
    if (name !== "" && value !== null && HEADER_VALUE.test(value)) pairs.push([name.toLowerCase(), value]);
    else {
      const message = `header ${index + 1}: expected name=value (the value is not shown)`;
      context.addIssue({ code: "custom", message });
    }
  }
  return Object.freeze(Object.fromEntries(pairs));
});

function decodePercent(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

export const fraction = text
  .regex(/^(0|1|0?\.\d{1,9}|1\.0{1,9})$/, { error: "expected a number from 0 to 1, such as 0.1" })
  .transform(Number);

export const replicaAddress = text.refine(
  (value) => {
    if (!URL.canParse(value)) return false;
    const { protocol, username, password, pathname, search } = new URL(value);
    return (
      /^https?:$/.test(protocol) && username === "" && password === "" && pathname === "/" && search === ""
    );
  },
  { error: "expected an http or https address without a path, like http://10.0.0.7:9371" },
);

function isDatabaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    ["postgres:", "postgresql:"].includes(url.protocol) && url.hostname !== "" && url.pathname.length > 1
  );
}
