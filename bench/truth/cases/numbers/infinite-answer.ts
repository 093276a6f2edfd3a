// A number that is larger than any: it is not silently null.
// expect {"oneOf": ["Infinity"], "loud": "Infinity|1e400|finite|JSON|rounded|range"}
const { body } = await tools.m.huge({});
return body.ratio === null ? null : String(body.ratio);
