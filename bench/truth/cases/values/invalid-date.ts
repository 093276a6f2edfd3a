// An invalid date.
// expect {"result": {"d": null}, "loud": "date|Date|JSON", "warns": true}
return { d: new Date("x") };
