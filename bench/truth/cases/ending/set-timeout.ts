// setTimeout as the last statement does not fail the script.
// expect {"result": null, "needs": ["completion"], "loud": "timer"}
setTimeout(() => {}, 5);
