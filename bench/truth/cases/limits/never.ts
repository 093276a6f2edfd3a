// A tool that never answers: its name is said.
// expect {"fails": ".", "names": "never"}
await tools.m.never({});
return 1;
