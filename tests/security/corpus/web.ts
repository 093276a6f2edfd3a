/** Probes: requests of a script by fetch, and the classes around it. */
import { expect } from "vitest";
import type { Run } from "../../contract/bench.ts";
import { WEB } from "../../contract/web.ts";
import { lootProbe, type Probe } from "./probe.ts";

/** Whatever the script did: its host was asked for requests of `fetch` only, by the addresses given. */
function onlyFetches(urls: readonly string[]) {
  return (run: Run) => {
    for (const { serviceId, toolId, parameters } of run.calls) {
      expect([serviceId, toolId]).toEqual(["fetch", ""]);
      expect(urls).toContain(parameters.url);
    }
  };
}

export const webProbes: Probe[] = [
  {
    id: "web.message-from-address",
    steals: "a call of another tool, by an address, method, header or body that ends the message early",
    script: String.raw`
      const text = '","method":"GET"},"x":"'.repeat(2) + '"}}\n{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"serviceId":"test","toolId":"echo","parameters":{}}}\u2028\u0000';
      await fetch("${WEB}/echo", { method: "POST", body: text });
      await fetch("${WEB}/echo", { headers: { "x-a": '"},"serviceId":"test","toolId":"echo' } });
      await fetch("${WEB}/echo?" + encodeURIComponent(text)).catch(() => {});
      for (const method of ['GET","serviceId":"test', "GET /x HTTP/1.1", "GET\r\nx: y"]) await fetch("${WEB}/echo", { method }).catch(() => {});
      return "done";`,
    observe(run) {
      expect([run.state, run.result]).toEqual(["success", "done"]);
      expect(run.calls.map(({ serviceId }) => serviceId)).toEqual(["fetch", "fetch", "fetch"]);
      expect(Object.keys(run.calls[1]?.parameters ?? {}).sort()).toEqual(["headers", "method", "url"]);
    },
  },
  {
    id: "web.forged-request",
    steals:
      "a header that a script may not send, by a class whose members answer something else the second time",
    script: String.raw`
      const headers = new Headers();
      class Sly extends Request { get headers() { return new Headers({ Authorization: "Bearer x" }); } get url() { return "http://other.test/"; } get method() { return "DELETE"; } }
      await fetch(new Sly("${WEB}/echo")).catch(() => {});
      Object.defineProperty(Request.prototype, "headers", { get() { return new Headers({ Cookie: "a" }); } });
      Object.defineProperty(Request.prototype, "url", { get() { return "http://other.test/"; } });
      await fetch("${WEB}/echo").catch(() => {});
      Object.hasOwn = () => false;
      String.prototype.toLowerCase = () => "x-harmless";
      await fetch("${WEB}/echo", { headers: { cookie: "a" } }).catch(() => {});`,
    observe(run) {
      onlyFetches([`${WEB}/echo`])(run);
      for (const { parameters } of run.calls.slice(0, 2)) expect(parameters.headers).toEqual([]);
    },
  },
  {
    id: "web.forged-prototypes",
    steals: "the bridge, by prototypes that answer for what the library reads of its own objects",
    script: String.raw`
      Object.prototype.serviceId = "test"; Object.prototype.toolId = "echo"; Object.prototype.file = "secret"; Object.prototype.base64 = "AA=="; Object.prototype.users = 1;
      Object.prototype.toJSON = function () { return { url: "http://other.test/", method: "GET", headers: [] }; };
      Array.prototype.toJSON = () => [["Authorization", "x"]];
      Array.prototype.map = () => [["Authorization", "x"]];
      JSON.stringify = () => '{"serviceId":"test"}';
      await fetch("${WEB}/echo", { method: "POST", body: "a" }).then((response) => response.text()).catch(() => {});
      await fetch("${WEB}/echo").catch(() => {});`,
    // The parameters are the script's own to spoil: a host checks each of them.
    observe: onlyFetches([`${WEB}/echo`, "http://other.test/"]),
  },
  lootProbe({
    id: "web.files",
    steals: "a file that is none of the run's, by the name that a body is given",
    attack: String.raw`
      for (const name of ["../../etc/passwd", "/etc/passwd", "http/../../x"]) {
        const error = await fetch("${WEB}/echo", { method: "POST", body: { file: name, toString: () => "text" } }).then((response) => response.json(), (error) => error);
        if (/root:/.test(atob(error.body ?? ""))) note("a file of the host was sent");
      }
      const large = await fetch("${WEB}/bytes/2000000");
      for (const { name } of await cyrnel.files.list()) if (!/^http\/\d+$/.test(name)) note(name);
      await cyrnel.files.remove((await cyrnel.files.list())[0].name);
      await large.text().then(() => note("a removed file was read"), (error) => take("error", error));`,
  }),
  lootProbe({
    id: "web.other-schemes",
    steals: "what an address of this machine or of the engine leads to",
    attack: String.raw`
      for (const address of ["file:///etc/passwd", "data:text/plain,a", "blob:null/x", "about:blank", "node:fs", "javascript:1", "http:///etc/passwd", "ws://localhost/", "http://[::1]:22/", "http://localhost/", "http://169.254.169.254/"])
        await fetch(address).then((response) => note(address + " answered " + response.status), (error) => take(address, error));`,
  }),
];
