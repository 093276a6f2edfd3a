// A Float64Array inside an object.
// expect {"result": {"v": [0.5, 1]}}
return { v: new Float64Array([0.5, 1]) };
