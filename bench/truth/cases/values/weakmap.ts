// A WeakMap cannot be written.
// expect {"fails": "WeakMap|JSON"}
return new WeakMap();
