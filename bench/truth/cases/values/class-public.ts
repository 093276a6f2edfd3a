// A class instance with public fields.
// expect {"result": {"x": 1}}
class P {
  x = 1;
}
return new P();
