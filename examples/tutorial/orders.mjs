// The API of docs/tutorial.md: four orders in memory, on loopback. Every request but that for the document needs the key.
import { createServer } from "node:http";

const PORT = Number(process.env.ORDERS_PORT ?? 4010);
const KEY = "tutorial-key-7f3a91";

const orders = new Map(
  [
    { id: 1, item: "tea", price: 12, status: "sent" },
    { id: 2, item: "rope", price: 30, status: "late" },
    { id: 3, item: "lamp", price: 45, status: "open" },
    { id: 4, item: "boat", price: 900, status: "late" },
  ].map((order) => [order.id, order]),
);

const order = {
  type: "object",
  required: ["id", "item", "price", "status"],
  properties: {
    id: { type: "integer" },
    item: { type: "string" },
    price: { type: "number" },
    status: { enum: ["open", "late", "sent", "canceled"] },
  },
};
const json = (schema) => ({ description: "OK", content: { "application/json": { schema } } });

const openapi = {
  openapi: "3.1.0",
  info: { title: "Orders", version: "1.0.0", description: "The orders of a small shop." },
  servers: [{ url: `http://127.0.0.1:${PORT}` }],
  security: [{ apiKey: [] }],
  components: { securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "x-api-key" } } },
  paths: {
    "/orders": {
      get: {
        operationId: "listOrders",
        summary: "Lists the orders.",
        parameters: [{ name: "status", in: "query", schema: order.properties.status }],
        responses: { 200: json({ type: "array", items: order }) },
      },
    },
    "/orders/{id}/cancel": {
      post: {
        operationId: "cancelOrder",
        summary: "Cancels an order.",
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
        responses: { 200: json(order) },
      },
    },
    "/whoami": {
      get: {
        operationId: "whoAmI",
        summary: "Says which key the request came with.",
        responses: { 200: json({ type: "object", properties: { key: { type: "string" } } }) },
      },
    },
  },
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://127.0.0.1");
  const [status, answer] = reply(request, pathname, searchParams);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
});

function reply({ method, headers }, pathname, query) {
  if (pathname === "/openapi.json") return [200, openapi];
  const key = headers["x-api-key"];
  if (key !== KEY) return [401, { error: "The header x-api-key is missing or wrong." }];
  if (method === "GET" && pathname === "/whoami") return [200, { key }];
  if (method === "GET" && pathname === "/orders") {
    const wanted = query.get("status");
    return [200, [...orders.values()].filter(({ status }) => wanted === null || status === wanted)];
  }
  const found = /^\/orders\/(\d+)\/cancel$/.exec(pathname);
  const order = found && orders.get(Number(found[1]));
  if (method !== "POST" || !order) return [404, { error: "There is no such order." }];
  order.status = "canceled";
  return [200, order];
}

server.listen(PORT, "127.0.0.1", () => {
  console.log(`Orders on http://127.0.0.1:${PORT}, key ${KEY}`);
});
