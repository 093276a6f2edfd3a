// An Error with members of its own.
// expect {"result": {"name": "Error", "message": "m", "code": "E1"}}
return Object.assign(new Error("m"), { code: "E1" });
