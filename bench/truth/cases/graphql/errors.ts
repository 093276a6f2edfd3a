// A field that fails: errors beside no data.
// expect {"fails": "rebuilding", "needs": ["graphql"]}
const answer = (await tools.g.broken({})) as any;
return answer ?? "none";
