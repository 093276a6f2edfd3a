// A URL is written as its text.
// expect {"result": "https://a.example/x"}
return new URL("https://a.example/x");
