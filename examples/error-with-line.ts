// An error that nobody catches. The types are gone when the script runs, but the error still names the line and
// column of this text, and the stack leads here and nowhere else.
// Expected: failed, reason `script_error`, `errorDetail.line` 20.

interface Order {
  id: number;
  customer: { name: string; address?: { city: string } };
}

const orders: Order[] = [
  { id: 1, customer: { name: "Ada", address: { city: "London" } } },
  { id: 2, customer: { name: "Grace" } },
];

type CityCount = Record<string, number>;

function countCities(found: Order[]): CityCount {
  const counts: CityCount = {};
  for (const order of found) {
    const city: string = order.customer.address!.city;
    counts[city] = (counts[city] ?? 0) + 1;
  }
  return counts;
}

console.log(`counting ${orders.length} orders`);
return countCities(orders);
