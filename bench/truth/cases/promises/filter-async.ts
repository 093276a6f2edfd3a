// filter with an async callback keeps everything: a mistake no runtime can see.
// expect {"result": [1, 2, 3]}
return [1, 2, 3].filter(async (x) => x > 2);
