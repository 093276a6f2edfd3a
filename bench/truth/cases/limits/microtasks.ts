// An endless loop of microtasks.
// expect {"fails": "."}
for (;;) await null;
