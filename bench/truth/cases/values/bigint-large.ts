// A bigint that no number holds.
// expect {"result": {"n": "100000000000000000000"}}
return { n: 10n ** 20n };
