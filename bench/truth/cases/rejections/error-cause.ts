// An error with its cause.
// expect {"fails": "could not load"}
try {
  await tools.m.gone({});
} catch (cause) {
  throw new Error("could not load", { cause });
}
return 1;
