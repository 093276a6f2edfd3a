// Imported by ../order-report.ts.
interface Order {
  price: number;
  status: string;
}

export interface Total {
  status: string;
  orders: number;
  value: number;
}

/** The most valuable first. */
export function sumByStatus(orders: readonly Order[]): Total[] {
  const groups = Map.groupBy(orders, ({ status }) => status);
  const totals = [...groups].map(([status, group]) => ({
    status,
    orders: group.length,
    value: group.reduce((sum, { price }) => sum + price, 0),
  }));
  return totals.sort((one, other) => other.value - one.value);
}
