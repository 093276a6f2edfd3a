// A catch that only logs is no failure.
// expect {"result": "ok", "effects": []}
tools.m.fail({}).catch((error) => console.error(error.message));
return "ok";
