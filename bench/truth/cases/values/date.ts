// A valid date.
// expect {"result": {"d": "1970-01-01T00:00:00.000Z"}}
return { d: new Date(0) };
