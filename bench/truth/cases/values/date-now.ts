// A date made by arithmetic.
// expect {"result": "1970-01-02T00:00:00.000Z"}
return new Date(86_400_000);
