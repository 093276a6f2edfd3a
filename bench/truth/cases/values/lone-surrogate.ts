// A text with a lone surrogate and NUL keeps its length.
// expect {"result": "a\ufffdb\u0000c", "oneOf": ["a\ud800b\u0000c"]}
return "a\uD800b\u0000c";
