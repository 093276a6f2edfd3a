// An interval that is cleared.
// expect {"result": 3}
return await new Promise((resolve) => {
  let ticks = 0;
  const timer = setInterval(() => {
    if (++ticks === 3) {
      clearInterval(timer);
      resolve(ticks);
    }
  }, 5);
});
