// 201 with a body.
// expect {"result": {"ticket": 1}, "effects": ["ticket {\"title\":\"t\"}"]}
const { body } = await tools.m.openTicket({ body: { title: "t" } });
return body;
