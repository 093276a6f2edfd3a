// Some data, and errors.
// expect {"fails": "not for you", "needs": ["graphql"]}
const answer = (await tools.g.half({})) as any;
return answer;
