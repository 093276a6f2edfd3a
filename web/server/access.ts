/** The key used to sign in. It stays in this tab: in memory or, if requested, in session storage. */
import { computed, signal } from "@preact/signals";
import { storedText } from "./storage.ts";

const stored = storedText(() => sessionStorage, "cyrnel.key");

/** True if the server accepts requests without a key, according to the page. */
const isOpen = document.querySelector('meta[name="cyrnel-access"]')?.getAttribute("content") === "open";

export const key = signal<string | null>(stored.read());
/** Why the last key is no longer accepted, shown on the sign-in page. */
export const refusal = signal<string | null>(null);
export const wantsKey = signal(false);

export const isSignedIn = computed(() => key.value !== null || (isOpen && !wantsKey.value));
export const isAnonymous = computed(() => key.value === null && isOpen);

/** With `keep`, a reload of this tab stays signed in. Closing the tab always signs out. */
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
