// A timer throws while the body waits.
// expect {"fails": "in the timer"}
setTimeout(() => {
  throw new Error("in the timer");
}, 5);
await new Promise((resolve) => setTimeout(resolve, 60));
return "ok";
