// An assignment as the last statement.
// expect {"result": 5, "needs": ["completion"]}
let x = 1;
x = 5;
