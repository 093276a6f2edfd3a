/** Why a call of a real document is not accepted: every reason there is. What matches none is a fault of the adapter. */

interface Explanation {
  pattern: RegExp;
  why: string;
}

const EXPLANATIONS: Explanation[] = [
  {
    pattern: /which the document does not define/,
    why: "the document asks for a security scheme that it does not define, and a call is never made without credentials",
  },
  { pattern: /"mutualtls", which is not supported/, why: "client certificates are not supported" },
  {
    pattern: /post_anything_and: refused: : Invalid security scheme used/,
    why: "the document wants two schemes in the one Authorization header",
  },
  {
    pattern: /style is only applicable to array parameter/,
    why: "Prism does not read objects in a delimited style",
  },
  { pattern: /Route not resolved/, why: "Prism does not follow the $ref of a path" },
  {
    pattern: /required property 'authorization'/,
    why: "OpenAPI leaves the Authorization header to security schemes",
  },
  {
    pattern: /(header\.content|query\.mdfilters)\b.* must (be object|NOT have more)/,
    why: "a list of objects in one header or query value has no defined form, and Prism splits at each comma",
  },
  {
    pattern: /must match exactly one schema in oneOf/,
    why: "the alternatives overlap, and only a discriminator, which Prism does not read, tells them apart",
  },
  {
    pattern: /directCircular: .*must have required property 'parent'/,
    why: "the schema requires itself within itself: no finite value fits",
  },
  {
    pattern: /Incompatible.*AllOf: not called|post_one_of_complex: not called/,
    why: "the schema contradicts itself, or is beyond the generator of samples",
  },
  {
    pattern: /paymentInitiationConsentCreate: not called/,
    why: "the generator of samples gives up on nested allOf of references",
  },
  {
    pattern: /schema_(add|update|delete): refused/,
    why: "the document tells operations of one path apart by a fragment, which no server sees",
  },
  {
    pattern: /Only a script can send a file of its workspace/,
    why: "the generator of samples took {file}, which needs a run; tests/contract/adapters/openapi/files.test.ts sends files",
  },
  {
    pattern: /post_oauth2_revoke: .*'grant_type'/,
    why: "the document requires a field that it does not describe",
  },
];

export function explainException(exception: string): string | null {
  return EXPLANATIONS.find(({ pattern }) => pattern.test(exception))?.why ?? null;
}
