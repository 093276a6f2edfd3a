// HTTP 418 with a text.
// expect {"fails": "418|short and stout"}
const { body } = await tools.m.teapot({});
return body;
