// An answer is printed and a member is returned.
// expect {"result": 12}
const answer = await tools.m.row({});
console.log(answer);
return answer.body.n;
