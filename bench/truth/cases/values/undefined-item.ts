// An undefined item of an array.
// expect {"result": [null, 1], "loud": "undefined|JSON", "warns": true}
return [undefined, 1];
