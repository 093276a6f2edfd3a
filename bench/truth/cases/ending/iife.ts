// An async function expression called at once.
// expect {"result": 8, "needs": ["completion"]}
(async () => {
  return 8;
})();
