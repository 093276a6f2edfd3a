// A retry loop round a flaky call.
// expect {"result": {"attempts": 3}}
for (let attempts = 1; ; attempts++) {
  try {
    await tools.m.flaky({});
    return { attempts };
  } catch (error) {
    if (attempts === 5) throw error;
  }
}
