// A class instance with private state only.
// expect {"fails": "Money|class|private|instance"}
class Money {
  #c = 5;
  get cents() {
    return this.#c;
  }
}
return new Money();
