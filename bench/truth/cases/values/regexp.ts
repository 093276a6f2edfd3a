// A regular expression.
// expect {"fails": "RegExp|regular expression|JSON", "oneOf": ["/a/g"]}
return { pattern: /a/g };
