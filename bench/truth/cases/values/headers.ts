// Headers are an object or a list, and not empty.
// expect {"oneOf": [{"a": "1"}, [["a", "1"]]], "loud": "Headers", "mayFail": "Headers"}
return new Headers({ a: "1" });
