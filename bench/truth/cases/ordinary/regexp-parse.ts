// A text is taken apart.
// expect {"result": [{"k": "a", "v": "1"}, {"k": "b", "v": "2"}]}
return [..."a=1;b=2".matchAll(/(?<k>\w)=(?<v>\d)/g)].map(({ groups }) => ({ ...groups }));
