/**
 * Assembles classic BPF as seccomp accepts it: forward jumps only, 32-bit words. Labels replace offsets; a
 * conditional jump beyond its 8-bit offset is extended by unconditional 32-bit jumps.
 */

// linux/bpf_common.h, linux/filter.h
const LOAD_WORD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP = 0x05; // BPF_JMP | BPF_JA
const RETURN = 0x06; // BPF_RET | BPF_K
const JUMP_IF = { equal: 0x15, greater: 0x25, atLeast: 0x35 } as const; // BPF_JMP | BPF_JEQ, BPF_JGT, BPF_JGE | BPF_K
const BPF_MAXINSNS = 4096;
/** sizeof(struct sock_filter): u16 code, u8 jt, u8 jf, u32 k. */
const INSTRUCTION_BYTES = 8;
const MAX_SHORT_JUMP = 255;

/** Placeholder for the pid of the process that installs the program, filled in just before. */
export const OWN_PID = "own pid";

export type Label = { readonly name: string };

export type Step =
  | { do: "load"; offset: number }
  | { do: "and"; mask: number }
  | { do: "jump"; if: keyof typeof JUMP_IF; than: number | typeof OWN_PID; yes: Label; no: Label }
  | { do: "return"; value: number }
  | { do: "place"; label: Label };

export interface BpfProgram {
  bytes: Uint8Array;
  /** Byte offsets of the 32-bit words that contain OWN_PID. */
  pidOffsets: number[];
}

/** Encodes steps. Throws if a label is missing, a jump leads backwards or the program is too long. */
export function assemble(steps: readonly Step[]): BpfProgram {
  const long = new Set<Step>();
  let layout = lay(steps, long);
  for (let lengthened = true; lengthened; ) {
    lengthened = false;
    for (const step of steps) {
      if (step.do !== "jump" || long.has(step)) continue;
      const next = layout.at(step) + 1;
      if (Math.max(layout.target(step.yes), layout.target(step.no)) - next > MAX_SHORT_JUMP) {
        long.add(step);
        lengthened = true;
      }
    }
    if (lengthened) layout = lay(steps, long);
  }
  if (layout.length > BPF_MAXINSNS) {
    throw new RangeError(`BPF program has ${layout.length} instructions, the kernel takes ${BPF_MAXINSNS}`);
  }
  return encode(steps, long, layout);
}

interface Layout {
  length: number;
  at(step: Step): number;
  target(label: Label): number;
}

function lay(steps: readonly Step[], long: ReadonlySet<Step>): Layout {
  const stepAt = new Map<Step, number>();
  const labelAt = new Map<Label, number>();
  let length = 0;
  for (const step of steps) {
    if (step.do === "place") {
      labelAt.set(step.label, length);
      continue;
    }
    stepAt.set(step, length);
    length += long.has(step) ? 3 : 1;
  }
  return {
    length,
    at: (step) => stepAt.get(step) ?? 0,
    target(label) {
      const address = labelAt.get(label);
      if (address === undefined) throw new Error(`BPF label "${label.name}" is not placed`);
      return address;
    },
  };
}

function encode(steps: readonly Step[], long: ReadonlySet<Step>, layout: Layout): BpfProgram {
  const bytes = new Uint8Array(layout.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  const pidOffsets: number[] = [];
  let address = 0;

  function emit(code: number, k: number, yes = 0, no = 0): void {
    const offset = address * INSTRUCTION_BYTES;
    view.setUint16(offset, code, true);
    view.setUint8(offset + 2, yes);
    view.setUint8(offset + 3, no);
    view.setUint32(offset + 4, k, true);
    address += 1;
  }
  function distance(from: number, label: Label): number {
    const jump = layout.target(label) - from;
    if (jump < 0) throw new Error(`BPF jump to "${label.name}" leads backwards`);
    return jump;
  }

  for (const step of steps) {
    switch (step.do) {
      case "load":
        emit(LOAD_WORD, step.offset);
        break;
      case "and":
        emit(AND, step.mask);
        break;
      case "return":
        emit(RETURN, step.value);
        break;
      case "jump": {
        if (step.than === OWN_PID) pidOffsets.push(address * INSTRUCTION_BYTES + 4);
        const k = step.than === OWN_PID ? 0 : step.than;
        if (long.has(step)) {
          emit(JUMP_IF[step.if], k, 0, 1);
          emit(JUMP, distance(address + 1, step.yes));
          emit(JUMP, distance(address + 1, step.no));
        } else {
          emit(JUMP_IF[step.if], k, distance(address + 1, step.yes), distance(address + 1, step.no));
        }
        break;
      }
      case "place":
        break;
    }
  }
  return { bytes, pidOffsets };
}
