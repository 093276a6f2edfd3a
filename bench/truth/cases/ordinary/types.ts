// Types, generics, an enum and an interface.
// expect {"result": "Blue:1", "needs": ["typescript"]}
enum Color {
  Red,
  Blue,
}
interface Box<T> {
  value: T;
}
const box: Box<Color> = { value: Color.Blue };
return `${Color[box.value]}:${box.value satisfies number}`;
