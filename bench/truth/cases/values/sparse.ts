// An array with a hole.
// expect {"result": [1, null, 3], "loud": "undefined|hole|JSON", "warns": true}
return [1, , 3];
