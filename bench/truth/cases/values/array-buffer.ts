// An ArrayBuffer.
// expect {"result": [1, 2]}
return new Uint8Array([1, 2]).buffer;
