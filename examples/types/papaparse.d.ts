// What csv-report.ts uses of papaparse, which comes without declarations.
declare const Papa: {
  parse<T>(text: string, options?: { header?: boolean; skipEmptyLines?: boolean }): { data: T[] };
};
export default Papa;
