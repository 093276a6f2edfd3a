/**
 * As much of OTLP's protobuf as the tests look at. Field numbers: opentelemetry/proto/trace/v1/trace.proto and
 * common/v1/common.proto; wire format: the protobuf encoding guide.
 */

export interface Span {
  /** `service.name` of the resource. */
  service: string;
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  isError: boolean;
  attributes: Record<string, string | number | boolean>;
}

type Field = { number: number; bytes: Buffer } | { number: number; value: bigint };

function* fieldsOf(bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    if ((tag & 7) === 0) yield { number, value: varint() };
    else {
      const length = (tag & 7) === 2 ? Number(varint()) : (tag & 7) === 1 ? 8 : 4;
      yield { number, bytes: bytes.subarray(at, at + length) };
      at += length;
    }
  }
}

const parts = (bytes: Buffer, number: number): Buffer[] =>
  [...fieldsOf(bytes)].flatMap((field) => (field.number === number && "bytes" in field ? [field.bytes] : []));

function readValue(bytes: Buffer): string | number | boolean {
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1 && "bytes" in field) return field.bytes.toString();
    if (field.number === 2 && "value" in field) return field.value === 1n;
    if (field.number === 3 && "value" in field) return Number(field.value);
    if (field.number === 4 && "bytes" in field) return field.bytes.readDoubleLE();
  }
  return "";
}

const readAttributes = (pairs: readonly Buffer[]): Span["attributes"] =>
  Object.fromEntries(
    pairs.map((pair) => [
      parts(pair, 1)[0]?.toString() ?? "",
      readValue(parts(pair, 2)[0] ?? Buffer.alloc(0)),
    ]),
  );

/** The spans of an ExportTraceServiceRequest. */
export function readSpans(request: Buffer): Span[] {
  return parts(request, 1).flatMap((resourceSpans) => {
    const [resource = Buffer.alloc(0)] = parts(resourceSpans, 1);
    const service = String(readAttributes(parts(resource, 1))["service.name"]);
    return parts(resourceSpans, 2)
      .flatMap((scopeSpans) => parts(scopeSpans, 2))
      .map((span) => ({
        service,
        traceId: parts(span, 1)[0]?.toString("hex") ?? "",
        spanId: parts(span, 2)[0]?.toString("hex") ?? "",
        parentId: parts(span, 4)[0]?.toString("hex") ?? "",
        name: parts(span, 5)[0]?.toString() ?? "",
        isError: parts(span, 15).some((status) =>
          [...fieldsOf(status)].some((field) => field.number === 3 && "value" in field && field.value === 2n),
        ),
        attributes: readAttributes(parts(span, 9)),
      }));
  });
}
