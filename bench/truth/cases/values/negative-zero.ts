// Minus zero is zero.
// expect {"result": [0, 0]}
return [-0, 0];
