/**
 * Passes open files between processes over a Unix socket: unix(7), SCM_RIGHTS; cmsg(3), with the structures of 64-bit
 * Linux. Bundled into the child: Node only.
 */
import {
  AF_UNIX,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  NR_RECVMSG,
  NR_SENDMSG,
  NR_SOCKETPAIR,
  SCM_RIGHTS,
  SOCK_CLOEXEC,
  SOCK_SEQPACKET,
  SOL_SOCKET,
} from "./kernel-headers.ts";
import { allocate, type Kernel } from "./syscalls.ts";

const MAX_BYTES = 64;
const MAX_DESCRIPTORS = 16;

/** struct msghdr, struct iovec and the header of struct cmsghdr. */
const MESSAGE_BYTES = 56;
const VECTOR_BYTES = 16;
const CONTROL_HEADER_BYTES = 16;

/** Opens two connected sockets that preserve message boundaries, close-on-exec. Throws if the kernel refuses. */
export function openSocketPair(kernel: Kernel): [number, number] {
  const ends = allocate(8);
  const result = kernel.syscall(NR_SOCKETPAIR, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  if (result < 0) throw new Error(`socketpair failed with errno ${-result}`);
  const view = new DataView(ends.buffer);
  return [view.getInt32(0, true), view.getInt32(4, true)];
}

/** Sends `bytes` (at least one) and `descriptors` in one message without waiting. Returns 0 or `-errno`. */
export function sendDescriptors(
  kernel: Kernel,
  socket: number,
  bytes: readonly number[],
  descriptors: readonly number[],
): number {
  const { message, data, control } = layOut(kernel, bytes.length, descriptors.length);
  data.set(bytes);
  const view = new DataView(control.buffer);
  view.setBigUint64(0, BigInt(CONTROL_HEADER_BYTES + 4 * descriptors.length), true);
  view.setInt32(8, SOL_SOCKET, true);
  view.setInt32(12, SCM_RIGHTS, true);
  descriptors.forEach((fd, index) => {
    view.setInt32(CONTROL_HEADER_BYTES + 4 * index, fd, true);
  });
  return Math.min(0, kernel.syscall(NR_SENDMSG, socket, message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

export interface Received {
  bytes: number[];
  descriptors: number[];
}

/** Waits for one message; returns null when the peer has closed. Throws if the kernel refuses. */
export function receiveDescriptors(kernel: Kernel, socket: number): Received | null {
  const { message, data, control } = layOut(kernel, MAX_BYTES, MAX_DESCRIPTORS);
  const length = kernel.syscall(NR_RECVMSG, socket, message, 0);
  if (length === 0) return null;
  if (length < 0) throw new Error(`recvmsg failed with errno ${-length}`);
  const view = new DataView(control.buffer);
  const descriptors: number[] = [];
  const end = Number(view.getBigUint64(0, true));
  for (let at = CONTROL_HEADER_BYTES; at < end; at += 4) descriptors.push(view.getInt32(at, true));
  return { bytes: [...data.subarray(0, length)], descriptors };
}

function layOut(kernel: Kernel, byteCount: number, descriptorCount: number) {
  const data = allocate(byteCount);
  // CMSG_SPACE rounds up to words of eight bytes.
  const control = allocate(CONTROL_HEADER_BYTES + 8 * Math.ceil(descriptorCount / 2));
  const vector = allocate(VECTOR_BYTES);
  const vectorView = new DataView(vector.buffer);
  vectorView.setBigUint64(0, kernel.addressOf(data, vector), true);
  vectorView.setBigUint64(8, BigInt(byteCount), true);
  const message = allocate(MESSAGE_BYTES);
  const view = new DataView(message.buffer);
  view.setBigUint64(16, kernel.addressOf(vector, message), true);
  view.setBigUint64(24, 1n, true);
  view.setBigUint64(32, kernel.addressOf(control, vector), true);
  view.setBigUint64(40, BigInt(control.byteLength), true);
  return { message, data, control };
}
