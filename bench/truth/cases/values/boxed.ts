// Boxed primitives.
// expect {"result": [1, "a", true]}
return [Object(1), Object("a"), Object(true)];
