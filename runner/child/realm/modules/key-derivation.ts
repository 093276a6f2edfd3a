/** Key derivation of `node:crypto`, loaded on first use. */
export { hkdf } from "@noble/hashes/hkdf.js";
export { pbkdf2 } from "@noble/hashes/pbkdf2.js";
export { scrypt } from "@noble/hashes/scrypt.js";
