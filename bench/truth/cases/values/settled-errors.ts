// The reasons of Promise.allSettled.
// expect {"result": [{"status": "rejected", "reason": {"name": "Error", "message": "no"}}]}
return await Promise.allSettled([Promise.reject(new Error("no"))]);
