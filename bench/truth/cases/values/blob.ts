// A Blob is returned instead of its text.
// expect {"fails": "Blob|text\\(\\)"}
return new Blob(["hi"]);
