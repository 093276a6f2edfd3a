/** The tables of one process in memory, with the guards of the statements they stand for: see api/processes/store/. */

import type {
  CallReply,
  JournaledCall,
  PreparedApproval,
  RestoredCall,
  RunApproval,
} from "#api/processes/model/calls.ts";
import type { ApprovalState } from "#api/processes/model/states.ts";
import type { Tables } from "./world.ts";

interface StoredApproval extends RunApproval {
  used: boolean;
}

const NO_USAGE = { queuedMs: 0, startMs: 0, wallMs: 0, cpuMs: 0, peakMemoryBytes: 0, toolCalls: 0 };

export function createMemoryTables(): Tables {
  let state = "queued";
  let exitState: string | null = null;
  let claim = "";
  let claims = 0;
  let asked = false;
  let ids = 0;
  let checkpoint: {
    run: string;
    detached: boolean;
    replays: number;
    content: unknown;
    unanswered: readonly number[];
  } | null = null;
  const journal = new Map<number, { call: JournaledCall; reply: CallReply | null }>();
  const approvals = new Map<string, StoredApproval & { run: string }>();

  function set(id: string, to: ApprovalState): boolean {
    const approval = approvals.get(id);
    if (approval?.state !== "pending") return false;
    approval.state = to;
    return true;
  }

  function end(to: string): void {
    state = "idle";
    exitState = to;
    if (!asked) return;
    for (const { id } of approvals.values()) set(id, "expired");
    checkpoint = null;
    journal.clear();
  }

  function requeue(): boolean {
    if (state !== "paused" || !checkpoint?.detached) return false;
    state = "queued";
    return true;
  }

  const holds = (of: string) => claim === of && (state === "running" || state === "paused");
  const use = (id: string) => {
    const approval = approvals.get(id);
    if (approval?.state !== "approved" || approval.used) return false;
    approval.used = true;
    return true;
  };

  return {
    approvalStore: {
      prepare: ({ seq, kind, digest }) => {
        ids += 1;
        return { id: `a${ids}`, seq, kind, digest, state: "pending", reason: null };
      },
      store: async () => {},
      listOfRun: async () => [],
      listEvents: async () => [],
      use: () => {
        throw new Error("statements are not for memory");
      },
      withdraw: async () => {},
      readAnswer: async () => null,
    },
    create: async () => 1,
    async claim() {
      if (state !== "queued") return null;
      claims += 1;
      claim = `claim ${claims}`;
      state = "running";
      return { claim, asked };
    },
    records: (name) => ({
      async pause({ checkpoint: content, approvals: made, calls, unanswered }) {
        if (!holds(name.claim)) return null;
        state = "paused";
        asked = true;
        checkpoint = {
          run: name.run,
          detached: false,
          replays: 0,
          content: structuredClone(content),
          unanswered,
        };
        for (const seq of [...journal.keys()]) if (!unanswered.includes(seq)) journal.delete(seq);
        for (const { reply, ...call } of calls) {
          if (unanswered.includes(call.seq) && !journal.has(call.seq)) journal.set(call.seq, { call, reply });
        }
        for (const one of made as PreparedApproval[]) {
          approvals.set(one.id, { ...one, used: false, run: name.run });
        }
        return { replayable: true };
      },
      async resume() {
        if (!holds(name.claim)) return false;
        state = "running";
        return true;
      },
      async detach(waiting) {
        const isThere = checkpoint !== null && claim === name.claim && state === "paused";
        if (!isThere || waiting.some((id) => approvals.get(id)?.state !== "pending")) return false;
        if (checkpoint) checkpoint.detached = true;
        claim = "of no child";
        return true;
      },
      async beginCall(call, approvalId) {
        if (!holds(name.claim)) return "gone";
        const { seq, serviceId, toolId, destructive, digest } = call;
        if (checkpoint) {
          const known = journal.get(seq);
          if (known === undefined)
            journal.set(seq, { call: { seq, serviceId, toolId, destructive, digest }, reply: null });
        }
        if (approvalId === null) return "begun";
        return use(approvalId) || !destructive ? "begun" : "used";
      },
      async endCall(seq, reply) {
        const known = journal.get(seq);
        if (known) known.reply = reply;
      },
      async useAnswer(id) {
        use(id);
        return "answer";
      },
      hasRoom: async () => true,
      storeApprovals: async () => false,
    }),
    async carry() {
      if (checkpoint === null) return "nothing";
      checkpoint.detached = false;
      checkpoint.replays += 1;
      const { run, content } = checkpoint;
      const calls: RestoredCall[] = [...journal.values()].map(({ call, reply }) => ({ ...call, reply }));
      const known = [...approvals.values()]
        .filter((approval) => approval.run === run)
        .map((one) => ({ ...one }));
      return {
        run,
        checkpoint: content,
        trail: [],
        usage: NO_USAGE,
        packages: [],
        approvals: known,
        events: [],
        calls,
        saved: [],
      };
    },
    async finish(_id, of, to) {
      if (claim !== of || !["running", "paused", "terminating"].includes(state)) return false;
      end(to);
      return true;
    },
    async terminate(_id, of) {
      if (!holds(of)) return false;
      state = "terminating";
      return true;
    },
    async cancel() {
      if (state !== "queued" && !(state === "paused" && checkpoint?.detached)) return false;
      end("canceled");
      return true;
    },
    async decide(id, to) {
      if (!set(id, to)) return null;
      return { isQueued: requeue() };
    },
    async recover() {
      if (checkpoint && (state === "running" || (state === "paused" && !checkpoint.detached))) {
        checkpoint.detached = true;
        claim = "of no child";
        const { run, unanswered } = checkpoint;
        const own = [...approvals.values()].filter((approval) => approval.run === run);
        const isDue =
          state === "running" ||
          !own.some((approval) => approval.state === "pending") ||
          own.some((approval) => approval.state !== "pending" && unanswered.includes(approval.seq));
        if (isDue) state = "queued";
      } else if (state === "terminating") end("canceled");
      else if (state === "running") end("failed");
    },
    async read() {
      const all = [...approvals.values()];
      return {
        state,
        exitState,
        pending: all.filter((one) => one.state === "pending").map(({ id }) => id),
        states: all.map((one) => [one.seq, one.state]),
      };
    },
  };
}
