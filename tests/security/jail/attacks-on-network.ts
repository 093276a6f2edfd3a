/** Attacks through sockets of every kind a host has. */
import { allocate } from "#runner/jail/kernel/syscalls.ts";
import { type Answer, type Attack, type Calls, refusedFromBirth } from "./attack.ts";

const AF_UNIX = 1;
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const LOOPBACK = [127, 0, 0, 1];

function inetAddress(port: number): Uint8Array {
  const memory = allocate(16);
  const view = new DataView(memory.buffer);
  view.setUint16(0, AF_INET, true);
  view.setUint16(2, port, false);
  memory.set(LOOPBACK, 4);
  return memory;
}

function unixAddress(path: string): Uint8Array {
  const bytes = Buffer.from(path);
  const memory = allocate(2 + bytes.byteLength + (path.startsWith("\0") ? 0 : 1));
  new DataView(memory.buffer).setUint16(0, AF_UNIX, true);
  memory.set(bytes, 2);
  return memory;
}

function connectTo(family: number, address: Uint8Array) {
  return ({ call }: Calls): Answer => {
    const socket = call("socket", family, SOCK_STREAM, 0);
    return socket < 0 ? socket : call("connect", socket, address, address.byteLength);
  };
}

export const network: Record<string, Attack> = {
  "connect by TCP": refusedFromBirth((calls, { tcpPort }) => connectTo(AF_INET, inetAddress(tcpPort))(calls)),
  "send by UDP": refusedFromBirth(({ call }, { udpPort }) => {
    const socket = call("socket", AF_INET, SOCK_DGRAM, 0);
    const address = inetAddress(udpPort);
    return socket < 0 ? socket : call("sendto", socket, allocate(1), 1, 0, address, address.byteLength);
  }),
  "connect to a Unix socket by path": refusedFromBirth((calls, { unixPath }) =>
    connectTo(AF_UNIX, unixAddress(unixPath))(calls),
  ),
  "connect to an abstract Unix socket": refusedFromBirth((calls, { abstractName }) =>
    connectTo(AF_UNIX, unixAddress(`\0${abstractName}`))(calls),
  ),
  "listen by TCP": refusedFromBirth(({ call }) => {
    const socket = call("socket", AF_INET, SOCK_STREAM, 0);
    if (socket < 0) return socket;
    const address = inetAddress(0);
    const bound = call("bind", socket, address, address.byteLength);
    return bound < 0 ? bound : call("listen", socket, 1);
  }),
  "open an IPv6 socket": refusedFromBirth(({ call }) => call("socket", 10, SOCK_STREAM, 0), "succeeds"),
  "open a netlink socket": refusedFromBirth(({ call }) => call("socket", 16, 3, 0)),
  "open a packet socket": refusedFromBirth(({ call }) => call("socket", 17, 3, 0), "succeeds", {
    controlNeedsRoot: true,
  }),
  "open a pair of sockets": refusedFromBirth(({ call }) =>
    call("socketpair", AF_UNIX, SOCK_STREAM, 0, allocate(8)),
  ),
};
