// false, zero, empty text and null are values.
// expect {"result": [false, 0, "", null]}
return [false, 0, "", null];
