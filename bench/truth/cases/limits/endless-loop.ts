// An endless loop.
// expect {"fails": "."}
for (;;) {}
