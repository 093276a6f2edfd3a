// A Map that counted words.
// expect {"result": {"a": 2, "b": 1}}
const counts = new Map<string, number>();
for (const word of "a b a".split(" ")) counts.set(word, (counts.get(word) ?? 0) + 1);
return counts;
