/**
 * Stands in for tr46 in the bundle: its tables are 240 kB and only names beyond ASCII need them. What is left of the
 * algorithm for an ASCII name without punycode is lower case (UTS #46, section 4).
 */
type ToASCII = (domain: string, options: Record<string, boolean>) => string | null;

const PLAIN = /^[\x00-\x7f]*$/;
const PUNYCODE = /(?:^|\.)xn--/i;

export function toASCII(domain: string, options: Record<string, boolean>): string | null {
  const isPlain = PLAIN.test(domain) && !PUNYCODE.test(domain);
  const isStrict = options["checkHyphens"] || options["useSTD3ASCIIRules"] || options["verifyDNSLength"];
  if (isPlain && !isStrict) return domain.toLowerCase();
  return (require("tr46") as { toASCII: ToASCII }).toASCII(domain, options);
}
