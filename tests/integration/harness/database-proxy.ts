/**
 * A proxy in front of Postgres that breaks connections the way networks do: reset, cut, delayed, silent, or with a single
 * answer lost after the statement has been carried out. It reads as much of the protocol as it needs to know which answer
 * belongs to which statement (PostgreSQL, "Message Flow"); it speaks no TLS.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export type Fault =
  /** TCP reset (RST) instead of the answer. */
  | { kind: "reset" }
  /** The answer is swallowed; the connection stays open and works on. */
  | { kind: "drop" }
  /** That many bytes of the answer arrive, then the connection ends (FIN). */
  | { kind: "cut"; afterBytes: number }
  /** The answer arrives that much later, and everything after it too. */
  | { kind: "delay"; ms: number };

export interface FaultOptions {
  /**
   * "answer" (default): the database has carried the statement out and answered. "question": the statement never
   * reaches the database; every fault but `delay` is a reset then.
   */
  at?: "answer" | "question";
  /** How often it strikes. Default 1. */
  times?: number;
}

export interface DatabaseProxy extends AsyncDisposable {
  /** For DATABASE_URL: the database through this proxy. */
  readonly url: string;
  /** Connections of clients that are open now. */
  readonly open: number;
  /**
   * Strikes the next statement whose text matches; resolves when it has struck for the last time. A transaction's end
   * matches /^commit/i. Several faults may be set; the first that matches is used up first.
   */
  strike(statement: RegExp, fault: Fault, options?: FaultOptions): Promise<void>;
  /** Forgets what was to strike and has not; what waits for it goes on. */
  calm(): void;
  /** TCP reset of all open connections, or of every n-th of them; answers how many. Those of the database end too. */
  reset(everyNth?: number): number;
  /** While true, no byte passes in either direction, also on new connections; what was held back passes afterwards. */
  hang(isHanging: boolean): void;
  /** While true, new connections are reset at once. */
  refuse(isRefusing: boolean): void;
  /** Everything the database says arrives this much later from now on; 0 is at once. */
  delay(ms: number): void;
}

interface Pending {
  fault: Fault;
  at: "answer" | "question";
  statement: RegExp;
  timesLeft: number;
  /** Resolves what `strike` answered, after the last time. */
  struck: () => void;
}

/** What all connections of one proxy go by. */
interface Weather {
  delayMs: number;
  /** Resolves when bytes may pass. */
  gate: Promise<void>;
  take(statement: string, at: "answer" | "question"): Pending | null;
}

/** In front of the database of this URL, on a free port of the loopback. The URL may name a Unix socket (`?host=/…`). */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get("host");
  const connectUpstream = () =>
    folder === null
      ? connect(Number(target.port || 5432), target.hostname)
      : connect(`${folder}/.s.PGSQL.${target.port || 5432}`);
  const pending: Pending[] = [];
  const links = new Set<Link>();
  let refusing = false;
  let openGate: (() => void) | null = null;
  const weather: Weather = {
    delayMs: 0,
    gate: Promise.resolve(),
    take(statement, at) {
      const found = pending.find((one) => one.at === at && one.statement.test(statement));
      if (!found) return null;
      found.timesLeft -= 1;
      if (found.timesLeft === 0) pending.splice(pending.indexOf(found), 1);
      return { ...found };
    },
  };
  const server = createServer((client) => {
    client.on("error", () => {});
    if (refusing) return void client.resetAndDestroy();
    const link = joinConnections(client, connectUpstream(), weather);
    links.add(link);
    client.once("close", () => links.delete(link));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");

  const url = new URL(target);
  url.searchParams.delete("host");
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    get open() {
      return links.size;
    },
    strike: (statement, fault, { at = "answer", times = 1 } = {}) =>
      new Promise((struck) => pending.push({ fault, at, statement, timesLeft: times, struck })),
    calm() {
      for (const { struck } of pending.splice(0)) struck();
    },
    reset(everyNth = 1) {
      const chosen = [...links].filter((_, index) => index % everyNth === 0);
      for (const link of chosen) link.reset();
      return chosen.length;
    },
    hang(isHanging) {
      if (isHanging && openGate === null) {
        const { promise, resolve } = Promise.withResolvers<void>();
        weather.gate = promise;
        openGate = resolve;
      } else if (!isHanging) {
        openGate?.();
        openGate = null;
      }
    },
    refuse(isRefusing) {
      refusing = isRefusing;
    },
    delay(ms) {
      weather.delayMs = ms;
    },
    async [Symbol.asyncDispose]() {
      openGate?.();
      for (const link of links) link.reset();
      server.close();
      await once(server, "close");
    },
  };
}

interface Link {
  reset(): void;
}

/** One statement on its way: what it says, and the part of its answer that is held back until all of it is there. */
interface Asked {
  statement: string;
  strike: Pending | null;
  held: Buffer[];
}

/** Messages of the database that come before a statement is carried out: ParseComplete, parameters and columns. */
const PREPARING = new Set(["1", "t", "T", "n"]);

function joinConnections(client: Socket, upstream: Socket, weather: Weather): Link {
  const end = () => {
    client.destroy();
    upstream.destroy();
  };
  const reset = () => {
    if (!client.destroyed) client.resetAndDestroy();
    upstream.destroy();
  };
  client.on("close", end);
  upstream.on("error", () => {}).on("close", end);

  const texts = new Map<string, string>();
  const asked: Asked[] = [];
  let asking: Asked | null = null;
  const toDatabase = makeLine(weather);
  const toClient = makeLine(weather);

  /** Begins a statement unless one is being asked; answers what is to happen to the question. */
  function ask(statement: string): Pending | null {
    if (asking !== null) return null;
    asking = { statement, strike: weather.take(statement, "answer"), held: [] };
    asked.push(asking);
    return weather.take(statement, "question");
  }

  function readStatement(type: string, message: Buffer): Pending | null {
    const [first = "", second = ""] = message.subarray(5).toString("latin1").split("\0");
    if (type === "P") texts.set(first, second);
    if (type === "P") return ask(second);
    if (type === "B") return ask(texts.get(second) ?? "");
    if (type !== "Q" && type !== "S") return null;
    const strike = type === "Q" ? ask(first) : null;
    asking = null;
    return strike;
  }

  const readQuestion = makeReader(true, (type, message) => {
    const strike = readStatement(type, message);
    if (strike !== null && strike.fault.kind !== "delay") reset();
    else
      toDatabase(() => upstream.write(message), strike?.fault.kind === "delay" ? strike.fault.ms : undefined);
    if (strike?.timesLeft === 0) strike.struck();
  });

  const readAnswer = makeReader(false, (type, message) => {
    const current = asked[0];
    if (type === "Z") asked.shift();
    if (!current?.strike || PREPARING.has(type)) {
      toClient(() => client.write(message), weather.delayMs);
      return;
    }
    current.held.push(message);
    if (type !== "Z") return;
    const answer = Buffer.concat(current.held);
    const { fault, timesLeft, struck } = current.strike;
    if (fault.kind === "reset") toClient(reset);
    else if (fault.kind === "delay") toClient(() => client.write(answer), fault.ms);
    else if (fault.kind === "cut")
      toClient(() => client.end(answer.subarray(0, fault.afterBytes), () => upstream.destroy()));
    if (timesLeft === 0) toClient(struck);
  });
  client.on("data", readQuestion);
  upstream.on("data", readAnswer);
  return { reset };
}

/** Does one thing after the other, each as late as it was told to and as the weather has it. */
function makeLine(weather: Weather) {
  let last: Promise<void> = Promise.resolve();
  return (act: () => void, delayMs = 0): void => {
    const late = delayMs === 0 ? null : sleep(delayMs);
    last = last
      .then(() => late)
      .then(() => weather.gate)
      .then(act);
  };
}

/** Cuts a stream into messages: a type and a length that counts itself; the first one of a client has no type. */
function makeReader(isClient: boolean, onMessage: (type: string, message: Buffer) => void) {
  let rest = Buffer.alloc(0);
  let isFirst = isClient;
  return (bytes: Buffer): void => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const typeBytes = isFirst ? 0 : 1;
      if (rest.length < typeBytes + 4) return;
      const length = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      const type = isFirst ? "" : String.fromCharCode(message[0] as number);
      isFirst = false;
      onMessage(type, message);
    }
  };
}
