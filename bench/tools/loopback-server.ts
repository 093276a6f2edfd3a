/** A small JSON server in a process of its own, for benchmarks. Prints its port; ends with its standard input. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end('{"items":[{"id":1,"title":"one"},{"id":2,"title":"two"}]}');
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().on("end", () => process.exit(0));
