/**
 * Executes a seccomp program the way the kernel does, instruction by instruction, on a struct seccomp_data made here. It
 * also refuses what the kernel's checker refuses: unknown instructions, jumps out of the program, running off its end.
 */
import type { BpfProgram } from "#runner/jail/seccomp/bpf.ts";
import type { Architecture } from "#runner/jail/seccomp/syscall-numbers.ts";

export interface SeccompData {
  number: number;
  /** AUDIT_ARCH_… of linux/audit.h. */
  architecture: number;
  args: readonly bigint[];
}

const INSTRUCTION_BYTES = 8;
/** sizeof(struct seccomp_data). */
const DATA_BYTES = 64;

/** The SECCOMP_RET_… word the program ends with. */
export function runSeccomp(program: Uint8Array, data: SeccompData): number {
  if (program.byteLength % INSTRUCTION_BYTES !== 0)
    throw new Error("the program is not a whole number of instructions");
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const memory = new DataView(new ArrayBuffer(DATA_BYTES));
  memory.setUint32(0, data.number >>> 0, true);
  memory.setUint32(4, data.architecture >>> 0, true);
  for (let index = 0; index < 6; index += 1) {
    memory.setBigUint64(16 + index * 8, BigInt.asUintN(64, data.args[index] ?? 0n), true);
  }

  let accumulator = 0;
  let next = 0;
  for (;;) {
    const offset = next * INSTRUCTION_BYTES;
    if (offset >= program.byteLength) throw new Error(`instruction ${next} is beyond the program`);
    const operation = code.getUint16(offset, true);
    const yes = code.getUint8(offset + 2);
    const no = code.getUint8(offset + 3);
    const k = code.getUint32(offset + 4, true);
    next += 1;
    switch (operation) {
      case 0x20: // BPF_LD | BPF_W | BPF_ABS
        if (k % 4 !== 0) throw new Error(`load from ${k} is not aligned`);
        accumulator = memory.getUint32(k, true);
        break;
      case 0x54: // BPF_ALU | BPF_AND | BPF_K
        accumulator = (accumulator & k) >>> 0;
        break;
      case 0x05: // BPF_JMP | BPF_JA
        next += k;
        break;
      case 0x15: // BPF_JMP | BPF_JEQ | BPF_K
        next += accumulator === k ? yes : no;
        break;
      case 0x25: // BPF_JMP | BPF_JGT | BPF_K
        next += accumulator > k ? yes : no;
        break;
      case 0x35: // BPF_JMP | BPF_JGE | BPF_K
        next += accumulator >= k ? yes : no;
        break;
      case 0x06: // BPF_RET | BPF_K
        return k;
      default:
        throw new Error(`instruction ${next - 1}: unknown operation 0x${operation.toString(16)}`);
    }
  }
}

export const ARCHITECTURES: Architecture[] = ["x86_64", "aarch64"];
export const AUDIT_ARCH = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };
export const OWN = 4242;

/** The program as it is installed by process OWN. */
export function installed({ bytes, pidOffsets }: BpfProgram): Uint8Array {
  const copy = Uint8Array.from(bytes);
  for (const offset of pidOffsets) new DataView(copy.buffer).setUint32(offset, OWN, true);
  return copy;
}

export function nameOf(result: number): string {
  if (result === 0x7fff0000) return "allow";
  if (result === 0x80000000) return "kill";
  if ((result & 0xffff0000) === 0x00050000) return `errno ${result & 0xffff}`;
  return `0x${result.toString(16)}`;
}
