// A class with a static member.
// expect {"result": 3}
class Counter {
  static made = 0;
  constructor() {
    Counter.made++;
  }
}
for (const _ of [1, 2, 3]) new Counter();
return Counter.made;
