// A file is written without await, and kept.
// expect {"result": "written", "needs": ["cyrnel"], "artifacts": ["out/a.txt"]}
cyrnel.files.write("out/a.txt", "x".repeat(100_000));
return "written";
