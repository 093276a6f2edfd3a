// A text is thrown.
// expect {"fails": "plain words"}
throw "plain words";
