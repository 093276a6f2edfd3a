// Emoji and combining characters.
// expect {"result": "👩‍👩‍👧 é"}
return "👩‍👩‍👧 é";
