/** What the server takes from OpenTelemetry's variables, and how it refuses the rest without saying what was in it. */
import { expect, test } from "vitest";
import { parseConfig } from "#api/config.ts";

const read = (variables: Record<string, string>) => parseConfig(variables, "linux");
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example/otlp" };

test("without an endpoint there is no tracing, whatever else is set", () => {
  expect(read({ OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_HEADERS: "a=b" })).toMatchObject({
    ok: true,
    config: { tracing: null },
  });
});

test("headers are pairs with percent-encoded values; names count in any case", () => {
  expect(
    read({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20a%2Cb, x-tenant=c=d" }),
  ).toMatchObject({
    ok: true,
    config: {
      tracing: {
        endpoint: "https://collector.example/otlp",
        headers: { authorization: "Bearer a,b", "x-tenant": "c=d" },
        serviceName: "cyrnel",
        ratio: 1,
      },
    },
  });
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://hidden-word"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "hidden-word"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=b,bad name=hidden-word"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%E0%A4%A-hidden-word"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ahidden-word"],
  ["OTEL_TRACES_SAMPLER_ARG", "2"],
  ["OTEL_TRACES_SAMPLER_ARG", "-0.5"],
  ["OTEL_TRACES_SAMPLER_ARG", "half"],
])("refuses %s=%s by name, without the value", (name, value) => {
  const parsed = read({ ...endpoint, [name]: value });
  expect(parsed.ok).toBe(false);
  if (parsed.ok) return;
  expect(parsed.problems).toHaveLength(1);
  expect(parsed.problems[0]).toMatch(new RegExp(`^${name}: `));
  expect(parsed.problems[0]).not.toContain("hidden-word");
});

test.each([
  ["0", 0],
  ["1", 1],
  ["0.25", 0.25],
  [".5", 0.5],
  ["1.0", 1],
])("a fraction may be %s", (text, ratio) => {
  expect(read({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: text })).toMatchObject({
    config: { tracing: { ratio } },
  });
});
