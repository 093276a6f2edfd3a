/** The key a person has signed in with. It stays in this tab: in memory or, if wanted, in its session storage. */
import { computed, signal } from "@preact/signals";
import { storedText } from "./storage.ts";

const stored = storedText(() => sessionStorage, "cyrnel.key");

/** True if the server admits callers without a key; it says so in the page. */
const isOpen = document.querySelector('meta[name="cyrnel-access"]')?.getAttribute("content") === "open";

export const key = signal<string | null>(stored.read());
/** Why the last key is no longer accepted; for the sign-in page. */
export const refusal = signal<string | null>(null);
/** A person on an open server may want to use a key all the same. */
export const wantsKey = signal(false);

export const isSignedIn = computed(() => key.value !== null || (isOpen && !wantsKey.value));
export const isAnonymous = computed(() => key.value === null && isOpen);

/** `keep`: a reload of this tab stays signed in. Nothing is kept when the tab closes. */
export function signIn(value: string, keep: boolean): void {
  stored.write(keep ? value : null);
  refusal.value = null;
  wantsKey.value = false;
  key.value = value;
}

export function signOut(reason: string | null = null): void {
  stored.write(null);
  refusal.value = reason;
  key.value = null;
}
