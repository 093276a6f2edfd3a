// cyrnel.output with what the script has so far.
// expect {"result": {"a": 1}, "needs": ["cyrnel"], "output": {"step": 2, "tags": ["x"]}}
cyrnel.output({ step: 1 });
cyrnel.output({ step: 2, tags: new Set(["x"]) });
return { a: 1 };
