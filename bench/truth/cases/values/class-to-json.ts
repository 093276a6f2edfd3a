// A class instance that says how it is written.
// expect {"result": {"cents": 5}}
class Money {
  #c = 5;
  toJSON() {
    return { cents: this.#c };
  }
}
return new Money();
