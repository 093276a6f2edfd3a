// A typed array.
// expect {"result": [1, 2, 255]}
return new Uint8Array([1, 2, 255]);
