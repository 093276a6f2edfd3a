// A promise in cyrnel.output.
// expect {"fails": "promise", "needs": ["cyrnel"]}
cyrnel.output({ total: Promise.resolve(42) } as any);
return 1;
