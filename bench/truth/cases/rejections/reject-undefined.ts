// A promise rejects with nothing.
// expect {"fails": "undefined|nothing|reject|threw"}
await Promise.reject();
return 1;
