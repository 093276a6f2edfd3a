/** Keeps the number of time series bounded: each distinct value of a label is one more for as long as the server runs. */

const OTHER = "other";

/** Passes the first `maxValues` distinct values on; whatever comes after them is `other`. */
export function createLabelBound(maxValues: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= maxValues) return OTHER;
    seen.add(value);
    return value;
  };
}
