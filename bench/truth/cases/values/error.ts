// An Error inside the result.
// expect {"result": {"e": {"name": "TypeError", "message": "boom"}}}
return { e: new TypeError("boom") };
