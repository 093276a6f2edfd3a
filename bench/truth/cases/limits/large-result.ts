// A text of 5 MB as the result.
// expect {"fails": "bytes|large|limit|MB", "length": 5000000}
return "x".repeat(5_000_000);
