/**
 * A small JSON server in a process of its own, for benchmarks; with the argument `https` it speaks that. Prints its port; ends with its
 * standard input.
 */
import http, { type RequestListener } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { SELF_SIGNED } from "#tests/integration/harness/self-signed.ts";

const answer: RequestListener = (_request, response) => {
  response.setHeader("content-type", "application/json");
  response.end('{"items":[{"id":1,"title":"one"},{"id":2,"title":"two"}]}');
};
const server =
  process.argv[2] === "https" ? https.createServer(SELF_SIGNED, answer) : http.createServer(answer);
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().on("end", () => process.exit(0));
