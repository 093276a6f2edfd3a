// A promise deep inside the result.
// expect {"fails": "promise"}
return { m: { deep: [Promise.resolve(1)] } };
