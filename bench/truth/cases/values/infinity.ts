// A division by zero.
// expect {"result": [null], "loud": "Infinity|finite|JSON", "warns": true}
return [1 / 0];
