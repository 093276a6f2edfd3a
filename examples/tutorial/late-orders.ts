// Cancels every late order. The key of the API is not here: the server adds it to each call.
const { body: late } = await tools.orders.listOrders({ query: { status: "late" } });
console.log(`${late.length} late orders`);
const canceled = [];
for (const { id, item } of late) {
  const { body } = await tools.orders.cancelOrder({ path: { id } });
  console.log(`${item}: ${body.status}`);
  canceled.push(item);
}
return canceled;
