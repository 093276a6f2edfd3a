// A thenable of the script is awaited by return.
// expect {"result": 4}
return { then: (resolve: (value: number) => void) => resolve(4) };
