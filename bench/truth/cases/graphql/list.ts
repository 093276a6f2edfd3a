// A list.
// expect {"result": 3, "needs": ["graphql"]}
const answer = (await tools.g.users({})) as any;
return JSON.stringify(answer).match(/user \d/g)?.length;
