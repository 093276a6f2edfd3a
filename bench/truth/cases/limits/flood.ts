// 200,000 lines: what is cut says so.
// expect {"result": "done"}
for (let i = 0; i < 200_000; i++) console.log("line " + i + " ....................");
return "done";
