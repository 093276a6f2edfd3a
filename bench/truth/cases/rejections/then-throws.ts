// A then callback throws and nobody catches.
// expect {"fails": "while mapping"}
tools.m.row({}).then(() => {
  throw new Error("while mapping");
});
return "ok";
