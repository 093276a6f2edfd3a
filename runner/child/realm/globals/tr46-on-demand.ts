/**
 * Replaces tr46 in the bundle: its tables take 240 kB and only non-ASCII names need them. For an ASCII name without
 * punycode, the algorithm only converts to lower case (UTS #46, section 4).
 */
interface Options {
  checkHyphens: boolean;
  useSTD3ASCIIRules: boolean;
  verifyDNSLength: boolean;
}
type ToASCII = (domain: string, options: Options) => string | null;

const BEYOND_ASCII = /[^\p{ASCII}]/u;
const PUNYCODE = /(?:^|\.)xn--/i;

export function toASCII(domain: string, options: Options): string | null {
  const isPlain = !BEYOND_ASCII.test(domain) && !PUNYCODE.test(domain);
  const isStrict = options.checkHyphens || options.useSTD3ASCIIRules || options.verifyDNSLength;
  if (isPlain && !isStrict) return domain.toLowerCase();
  return (require("tr46") as { toASCII: ToASCII }).toASCII(domain, options);
}
