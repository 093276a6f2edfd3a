import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEgressEntries } from "#api/egress/entries.ts";
import {
  EgressRefused,
  type EgressRules,
  requireAllowedAddress,
  requireAllowedHost,
  requireAllowedUrl,
} from "#api/egress/rules.ts";

function rules(allow = "", deny = ""): EgressRules {
  const parse = (list: string) => {
    const { entries, problems } = parseEgressEntries(list);
    expect(problems).toEqual([]);
    return entries;
  };
  return { allow: parse(allow), deny: parse(deny) };
}

/** What a check said no with; null for yes. */
function refusal(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(EgressRefused);
    expect(error).toMatchObject({ code: "egress_refused" });
    return (error as Error).message;
  }
}

const refusedUrl = (url: string, given = rules()) => refusal(() => requireAllowedUrl(new URL(url), given));
const refusedAddress = (address: string, given = rules(), host = "some.example") =>
  refusal(() => requireAllowedAddress(address, host, given));

const PUBLIC = [
  "8.8.8.8",
  "1.1.1.1",
  "93.184.216.34",
  "172.15.255.255",
  "172.32.0.0",
  "100.63.255.255",
  "100.128.0.0",
];
const PUBLIC_V6 = [
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
  "2001:4860:4860::8888",
  "64:ff9b::8.8.8.8",
  "::ffff:8.8.8.8",
];

test.each([...PUBLIC, ...PUBLIC_V6])("the public address %s is allowed", (address) => {
  expect(refusedAddress(address)).toBeNull();
});

test.each([
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "unspecified"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "shared"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["169.254.1.1", "link-local"],
  ["169.254.169.254", "link-local"],
  ["169.254.170.2", "link-local"],
  ["100.100.100.200", "metadata"],
  ["168.63.129.16", "metadata"],
  ["192.0.0.192", "metadata"],
  ["192.0.2.1", "documentation"],
  ["198.18.0.1", "documentation"],
  ["203.0.113.9", "documentation"],
  ["192.88.99.1", "reserved"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "reserved"],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["fc00::1", "private"],
  ["fd12:3456::1", "private"],
  ["fec0::1", "private"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["febf::1", "link-local"],
  ["ff02::1", "multicast"],
  ["fd00:ec2::254", "metadata"],
  ["fd20:ce::254", "metadata"],
  ["100::1", "reserved"],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["2001::1", "reserved"],
  ["4000::1", "not assigned"],
  ["5f00::1", "not assigned"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::ffff:10.0.0.1", "private"],
  ["::ffff:169.254.169.254", "link-local"],
  ["0:0:0:0:0:ffff:a9fe:a9fe", "link-local"],
  ["::127.0.0.1", "wraps"],
  ["::8.8.8.8", "wraps"],
  ["::ffff:0:127.0.0.1", "wraps"],
  ["64:ff9b::127.0.0.1", "loopback"],
  ["64:ff9b::a9fe:a9fe", "link-local"],
  ["64:ff9b:1::10.0.0.1", "wraps"],
  ["2002:7f00:1::", "wraps"],
  ["2002:808:808::1", "wraps"],
  ["2001:0:808:808::f5ff:fffe", "reserved"],
])("%s is refused as %s", (address, rule) => {
  expect(refusedAddress(address)).toContain(rule);
});

/** Notations that URLs and resolvers know for 127.0.0.1 and 169.254.169.254. */
describe.each([
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0x7F.0.0.1/",
  "http://0177.0.0.1/",
  "http://017700000001/",
  "http://127.1/",
  "http://127.0.1/",
  "http://0x7f.1/",
  "http://127.0.0.1./",
  "http://127.000.000.001/",
  "http://%31%32%37.0.0.1/",
  "http://①②⑦.0.0.1/",
  "http://127。0。0。1/",
  "http://0/",
  "http://0.0.0.0:8080/",
  "http://00000000000/",
  "http://[::1]/",
  "http://[::]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "https://169.254.169.254/latest/meta-data/",
  "https://2852039166/",
  "https://0xa9fea9fe/",
  "https://0251.0376.0251.0376/",
  "https://[::ffff:169.254.169.254]/",
  "https://[::ffff:a9fe:a9fe]/",
  "https://[fe80::1]/",
  "https://[fd00:ec2::254]/",
  "http://192.168.257/",
  "http://10.1/",
  "http://user:password@127.0.0.1/",
])("%s", (url) => {
  test("is refused before anything is resolved", () => {
    expect(refusedUrl(url)).not.toBeNull();
  });
});

test.each([
  "http://user:password@example.com/",
  "http://user@example.com/",
  "http://example.com@8.8.8.8/",
  "file:///etc/passwd",
  "ftp://example.com/",
  "data:text/plain,x",
  "blob:https://example.com/1",
  "gopher://example.com/",
  "ws://example.com/",
])("%s is refused for what it is", (url) => {
  const message = refusedUrl(url);
  expect(message).not.toBeNull();
  expect(message).not.toContain("password@");
});

test("an address with a zone, and one with too many parts, is no URL at all", () => {
  for (const url of ["http://[fe80::1%25eth0]/", "http://1.2.3.4.5/", "http://256.256.256.256/"]) {
    expect(URL.canParse(url)).toBe(false);
  }
});

test("a name is refused only once it has an address", () => {
  expect(refusedUrl("https://localhost/")).toBeNull();
  expect(refusedAddress("127.0.0.1", rules(), "localhost")).toContain("localhost (127.0.0.1)");
  expect(refusedAddress("nonsense")).toContain("not an IP address");
});

test("the allow list opens blocks, single addresses and names", () => {
  const given = rules("10.0.0.0/8, 192.168.1.5, fd00::/8, db.corp.example, *.svc.example");
  expect(refusedAddress("10.255.0.1", given)).toBeNull();
  expect(refusedAddress("::ffff:10.0.0.1", given)).toBeNull();
  expect(refusedAddress("64:ff9b::10.0.0.1", given)).toBeNull();
  expect(refusedAddress("192.168.1.5", given)).toBeNull();
  expect(refusedAddress("192.168.1.6", given)).toContain("private");
  expect(refusedAddress("fd00:1::1", given)).toBeNull();
  expect(refusedAddress("172.16.0.1", given, "db.corp.example")).toBeNull();
  expect(refusedAddress("172.16.0.1", given, "DB.corp.example.")).toBeNull();
  expect(refusedAddress("172.16.0.1", given, "evil-db.corp.example")).not.toBeNull();
  expect(refusedAddress("172.16.0.1", given, "a.svc.example")).toBeNull();
  expect(refusedAddress("172.16.0.1", given, "svc.example")).not.toBeNull();
  expect(refusedAddress("172.16.0.1", given, "evilsvc.example")).not.toBeNull();
});

test("IPv6 loopback is one address, and allowing it is enough", () => {
  expect(refusedAddress("::1", rules("::1"))).toBeNull();
  expect(refusedAddress("::1", rules("127.0.0.0/8, 0.0.0.0/0"))).toContain("loopback");
  expect(refusedAddress("::1", rules("", "0.0.0.0/0"))).toContain("loopback");
});

test("the outer address of a tunnel is a matter of its own", () => {
  expect(refusedAddress("2002:a00:1::", rules("10.0.0.0/8"))).toContain("wraps");
  expect(refusedAddress("2002:a00:1::", rules("10.0.0.0/8, 2002::/16"))).toBeNull();
  expect(refusedAddress("2002:a00:1::", rules("2002::/16"))).toContain("private");
  expect(refusedAddress("2002:808:808::", rules("2002::/16"))).toBeNull();
});

test("the deny list wins, by name and by any address inside of an address", () => {
  const given = rules(
    "10.0.0.0/8,0.0.0.0/0,::/0,bad.example,10.0.0.1",
    "10.0.0.1, 8.8.0.0/16, bad.example, *.bad.example, 64:ff9b::/96",
  );
  expect(refusedAddress("10.0.0.1", given)).toContain("CYRNEL_EGRESS_DENY names 10.0.0.1");
  expect(refusedAddress("::ffff:10.0.0.1", given)).toContain("CYRNEL_EGRESS_DENY");
  expect(refusedAddress("10.0.0.2", given)).toBeNull();
  expect(refusedAddress("8.8.4.4", given)).toContain("8.8.0.0/16");
  expect(refusedAddress("64:ff9b::101:101", given)).toContain("64:ff9b::/96");
  for (const host of ["bad.example", "BAD.example.", "a.b.bad.example"]) {
    expect(refusal(() => requireAllowedHost(host, given))).toContain("CYRNEL_EGRESS_DENY");
    expect(refusedUrl(`https://${host}/`, given)).toContain("CYRNEL_EGRESS_DENY");
  }
  expect(refusal(() => requireAllowedHost("notbad.example", given))).toBeNull();
});

test("link-local and metadata addresses need to be named exactly", () => {
  const everything = rules("0.0.0.0/0, ::/0, metadata.google.internal, *.internal");
  for (const address of [
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
  ]) {
    expect(refusedAddress(address, everything, "metadata.google.internal")).toContain("names exactly");
  }
  expect(refusedAddress("127.0.0.1", everything)).toBeNull();
  const exact = rules("169.254.169.254, fe80::1/128, ::ffff:100.100.100.200");
  for (const address of ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "100.100.100.200"]) {
    expect(refusedAddress(address, exact)).toBeNull();
  }
  expect(refusedAddress("169.254.169.253", exact)).toContain("names exactly");
  expect(refusedAddress("169.254.169.254", rules("169.254.169.254", "169.254.0.0/16"))).toContain("DENY");
});

test.each([
  ["10.0.0.1/8", "beyond its prefix"],
  ["10.0.0.0/33", "not a block"],
  ["10.0.0.0/", "not a block"],
  ["fd00::/129", "not a block"],
  ["fe80::1%eth0", "neither"],
  ["http://example.com", "not a block"],
  ["example.com:443", "neither"],
  ["127.1", "neither"],
  ["0x7f000001", "neither"],
  ["010.0.0.1", "neither"],
  ["*.*.example", "neither"],
  ["exa mple", "neither"],
  ["-x.example", "neither"],
])("the entry %s is a mistake that is reported", (entry, problem) => {
  const { problems } = parseEgressEntries(`8.8.8.8, ${entry}`);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(problem);
  expect(problems[0]).toContain(entry);
});

test("no IPv4 address that a block holds slips through an IPv6 notation of it", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(octet, octet, octet, octet, (a, b, c, d) => {
      const plain = `${a}.${b}.${c}.${d}`;
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      const isRefused = refusedAddress(plain) !== null;
      for (const carried of [`::ffff:${hex}`, `64:ff9b::${hex}`, `::ffff:${plain}`]) {
        expect(refusedAddress(carried) !== null).toBe(isRefused);
      }
      for (const tunnel of [`2002:${hex}::1`, `::${hex}`, `64:ff9b:1::${hex}`])
        expect(refusedAddress(tunnel)).not.toBeNull();
      const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
      const octal = [a, b, c, d].map((part) => `0${part.toString(8)}`).join(".");
      for (const host of [
        String(number),
        `0x${number.toString(16)}`,
        octal,
        `${a}.${(b << 16) | (c << 8) | d}`,
      ]) {
        expect(refusedUrl(`http://${host}/`) !== null).toBe(isRefused);
      }
    }),
    { numRuns: 500 },
  );
});
