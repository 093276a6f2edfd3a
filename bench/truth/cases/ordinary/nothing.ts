// A script that returns nothing.
// expect {"result": null}
const unused = 1 + 1;
