// A mean of nothing.
// expect {"result": {"mean": null}, "loud": "NaN|not finite|mean|JSON", "warns": true}
return { mean: 0 / 0 };
