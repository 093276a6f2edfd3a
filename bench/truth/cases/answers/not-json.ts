// HTML that comes as JSON: it is not silently undefined.
// expect {"needs": ["openapi"], "oneOf": ["<p>busy</p>"], "loud": "JSON", "mayFail": "JSON"}
return (await tools.m.notjson({})).body;
