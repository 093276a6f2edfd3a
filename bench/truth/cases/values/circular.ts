// A circular object.
// expect {"fails": "itself|circular|cycl"}
const o: any = { n: 1 };
o.self = o;
return o;
