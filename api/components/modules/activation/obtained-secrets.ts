/** Secret values that adapters come by themselves, such as access tokens: what knows secrets learns the latest of each. */

/** What knows secrets is built anew for each of them, which takes time in proportion to all of their characters. */
const OBTAINED_LIMITS = { maxValuesPerModule: 16, maxCharacters: 256 } as const;

export interface ObtainedWatch {
  setOwner(ownerKey: string, values: Record<string, unknown>): void;
}

/** What a module is given as `keepSecret`; it throws TypeError for what is no text. */
export function createObtainedSecrets(watch: ObtainedWatch): (moduleId: string) => (value: string) => void {
  const byModule = new Map<string, Set<string>>();
  return (moduleId) => (value) => {
    if (typeof value !== "string") throw new TypeError("keepSecret takes a text.");
    // A long one is of no use without its end; the end of a signed token is its signature.
    const sought = value.slice(-OBTAINED_LIMITS.maxCharacters);
    const values = byModule.get(moduleId) ?? new Set();
    byModule.set(moduleId, values);
    values.delete(sought);
    values.add(sought);
    const [oldest] = values;
    if (values.size > OBTAINED_LIMITS.maxValuesPerModule && oldest !== undefined) values.delete(oldest);
    watch.setOwner(`obtained:${moduleId}`, Object.fromEntries([...values].entries()));
  };
}
