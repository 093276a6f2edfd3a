// Web APIs without a network: hashes, base64, URLs, text encodings, deep copies, dates in any language.
// Expected: success; the two fingerprints differ, the copy is independent of the original.

async function fingerprint(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The same address written in two ways gets one name. */
function normalise(address: string): string {
  const url = new URL(address);
  url.hash = "";
  url.searchParams.sort();
  return url.href;
}

const original = { tags: new Set(["a", "b"]), at: new Date(Date.UTC(2026, 10, 21)) };
const copy = structuredClone(original);
copy.tags.add("c");

return {
  fingerprints: await Promise.all(["héllo", "hello"].map(fingerprint)),
  address: normalise("HTTPS://Example.com:443/a/../list?b=2&a=1#top"),
  base64: btoa(String.fromCharCode(...new TextEncoder().encode("naïve"))),
  tags: { original: original.tags.size, copy: copy.tags.size },
  date: new Intl.DateTimeFormat("de-DE", { dateStyle: "long", timeZone: "UTC" }).format(original.at),
  unique: new Set(Array.from({ length: 1000 }, () => crypto.randomUUID())).size,
};
