/**
 * A first run of the realm in a new slot: what it calls is compiled then and kept in the code cache of all later runs.
 */
import type { StartParams } from '#runner/protocol.ts';
import type { PreparedIsolate } from './isolate.ts';

const WARM_UP_MS = 10_000;
const CODE = '(async () => { console.log("a"); console.error("b"); cyrnel.output({ a: 1 }); return await tools.a.b({ c: 1 }); })';

/** Runs a small script that uses what most scripts use. Its messages go nowhere. */
export function warmUp(isolate: PreparedIsolate): void {
  const params: StartParams = {
    code: CODE,
    mappings: '',
    process: { id: 1, ref: null },
    seed: Buffer.alloc(32).toString('base64'),
    limits: {
      maxConcurrentCalls: 1,
      maxCalls: 1,
      maxMessageBytes: 65_536,
      maxStdoutBytes: 1024,
      maxStderrBytes: 1024,
      maxOutputBytes: 1024,
      maxResultBytes: 1024,
    },
  };
  isolate.start(JSON.stringify({ jsonrpc: '2.0', method: 'start', params }), CODE, WARM_UP_MS);
  isolate.receive('{"jsonrpc":"2.0","id":1,"result":1}', WARM_UP_MS);
}
