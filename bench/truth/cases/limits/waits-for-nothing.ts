// A promise that nothing can settle.
// expect {"fails": "."}
await new Promise(() => {});
return 1;
