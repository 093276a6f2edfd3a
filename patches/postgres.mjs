/**
 * Corrects the driver of Postgres where it stands, after `npm ci`: what it does when a connection is lost ends the
 * server, or lets what is left of one transaction run inside another. Its maintainer has the reports and corrections
 * of others, and no release with them yet; edits name those there are. Plain JavaScript, because any Node that installs runs
 * it. Done twice, it does nothing; on another version of the driver it fails, and has to be looked at again.
 */
import { readFileSync, writeFileSync } from "node:fs";

const VERSION = "3.4.9";

const EDITS = [
  {
    // What was about to be written, and the error and query of before, were taken over into the next connection: it
    // could never log in, or answered its first query with an old error. (porsager/postgres#1209, #1215, #1223)
    file: "connection.js",
    from: `
    clearImmediate(nextWriteTimer)
    socket.removeListener('data', data)`,
    to: `
    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    socket.removeListener('data', data)`,
  },
  {
    // Where whatever accepts connections ends them before the login (a proxy without a database behind it), it tried
    // again at once, for ever. Several hosts are tried one after another, as before.
    file: "connection.js",
    from: `
    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    closedTime`,
    to: `
    if (initial && options.host.length > 1)
      return reconnect()

    !hadError && (query || initial || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    closedTime`,
  },
  {
    // A connection that was made in order to be reserved was given to nobody, once the driver does not ask for types
    // (api/db/arrays.ts). (porsager/postgres#1219)
    file: "connection.js",
    from: `
      initial && !initial.reserve && execute(initial)
      options.shared.retries = retries = 0
      initial = null
      return
    }
`,
    to: `
      options.shared.retries = retries = 0
      const first = initial
      initial = null
      if (!first.reserve)
        return execute(first)
    }
`,
  },
  {
    // A lost transaction was rolled back on a connection that was gone, which throws where nobody can catch it; and
    // once another query had that connection made anew, the statements that were left of the transaction ran there,
    // outside of any transaction or inside another one. (porsager/postgres#1155, #1208, #1216)
    file: "index.js",
    from: `
        new Promise((_, reject) => connection.onclose = reject)
`,
    to: `
        new Promise((_, reject) => connection.onclose = error => reject(lost = error))
`,
  },
  {
    file: "index.js",
    from: `
    let savepoints = 0
      , connection
`,
    to: `
    let savepoints = 0
      , lost = null
      , connection
`,
  },
  {
    file: "index.js",
    from: `
        q.catch(e => uncaughtError || (uncaughtError = e))
`,
    to: `
        q.catch(e => uncaughtError || (uncaughtError = e))
        if (lost)
          return q.reject(lost)
`,
  },
  {
    // While the database was away, each attempt to connect asked for all channels again and kept what the attempts before
    // had asked for: a few megabytes a minute, and thousands of calls of onlisten once it was back.
    file: "index.js",
    from: `
      onclose() {
        Object.entries(listen.channels).forEach(([name, { listeners }]) => {
          delete listen.channels[name]
          Promise.all(listeners.map(l => listen(name, l.fn, l.onlisten).catch(() => { /* noop */ })))
        })
      },
`,
    to: `
      onclose() {
        Object.values(listen.channels).forEach(x => x.isLost = !x.isWaiting)
        clearTimeout(listen.retry)
        listen.retry = setTimeout(() => {
          Object.entries(listen.channels).forEach(([name, { isLost, listeners }]) => {
            if (!isLost)
              return
            delete listen.channels[name]
            Promise.all(listeners.map(l => listen(name, l.fn, l.onlisten).catch(() => { /* noop */ })))
          })
        }, 100).unref()
      },
`,
  },
  {
    file: "index.js",
    from: `
    }\`, listeners: [listener] }
    const result = await channels[name].result
`,
    to: `
    }\`, listeners: [listener], isWaiting: true }
    const channel = channels[name]
    channel.result.then(
      () => Object.assign(channel, { isWaiting: false }),
      () => Object.assign(channel, { isWaiting: false, isLost: true })
    )
    const result = await channel.result
`,
  },
  {
    // api/db/pool.ts refuses to work with a driver that does not say so.
    file: "index.js",
    from: `
Object.assign(Postgres, {
`,
    to: `
Object.assign(Postgres, {
  isCorrected: true,
`,
  },
];

const DRIVER = new URL("../node_modules/postgres/", import.meta.url);
const sourceOf = (file) => new URL(`src/${file}`, DRIVER);

const { version } = JSON.parse(readFileSync(new URL("package.json", DRIVER), "utf8"));
if (version !== VERSION) {
  throw new Error(
    `patches/postgres.mjs corrects postgres ${VERSION}; installed is ${version}. Check each edit, then change VERSION.`,
  );
}
const texts = new Map(EDITS.map(({ file }) => [file, readFileSync(sourceOf(file), "utf8")]));
for (const { file, from, to } of EDITS) {
  const text = texts.get(file);
  if (text.includes(to)) continue;
  if (text.split(from).length !== 2) {
    throw new Error(
      `patches/postgres.mjs: what it corrects is not in postgres/src/${file}. Run npm ci, which brings it back:${from}`,
    );
  }
  texts.set(
    file,
    text.replace(from, () => to),
  );
}
for (const [file, text] of texts) writeFileSync(sourceOf(file), text);
