// A generator.
// expect {"result": [1, 2]}
function* numbers() {
  yield 1;
  yield 2;
}
return numbers();
