// A result nested 5,000 levels deep.
// expect {"fails": "deep|nest|level|depth|stack|circular", "ok": true}
let o: unknown = {};
for (let i = 0; i < 5000; i++) o = { o };
return o;
