// A return is the value.
// expect {"result": "returned", "needs": ["completion"]}
const unused = 1;
return "returned";
