// A sleep between two steps.
// expect {"result": "rested"}
await new Promise((resolve) => setTimeout(resolve, 20));
return "rested";
