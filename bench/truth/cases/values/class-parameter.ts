// A class instance with private state in the parameters of a call: nothing may be sent.
// expect {"effects": [], "fails": "Money|class|instance"}
class Money {
  #c = 5;
  get cents() {
    return this.#c;
  }
}
await tools.m.put({ body: { x: new Money() } });
return 1;
