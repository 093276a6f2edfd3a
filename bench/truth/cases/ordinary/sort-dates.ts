// Dates are sorted.
// expect {"result": ["2026-01-02", "2026-03-01"]}
const dates = ["2026-03-01", "2026-01-02"].map((text) => new Date(text));
dates.sort((a, b) => a.getTime() - b.getTime());
return dates.map((date) => date.toISOString().slice(0, 10));
