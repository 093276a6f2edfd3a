// A getter of the result.
// expect {"result": {"full": "a b"}}
const person = {
  first: "a",
  get full() {
    return `${this.first} b`;
  },
};
return { full: person.full };
