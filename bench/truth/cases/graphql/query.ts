// A query.
// expect {"result": "user 3", "needs": ["graphql"]}
const answer = (await tools.g.user({ id: "3" })) as any;
return JSON.stringify(answer).match(/user 3/)?.[0];
