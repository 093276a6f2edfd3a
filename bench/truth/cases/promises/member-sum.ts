// A member of a promise is undefined, and the sum is not a number.
// expect {"result": {"total": null}, "warns": true}
const count = tools.m.items({}) as any;
return { total: count.total + 1 };
