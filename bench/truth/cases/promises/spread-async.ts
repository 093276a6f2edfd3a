// An async generator where an array is meant.
// expect {"fails": "generator|iter|stream|class instance|not awaited|JSON"}
async function* numbers() {
  yield 1;
}
return numbers();
