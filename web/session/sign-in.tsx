/** The way in: an API key, tried before it is taken. */

import { useState } from "preact/hooks";
import { createClient } from "#client/client.ts";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.ts";
import { Brand } from "../parts/brand.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckField, TextField } from "../parts/field.tsx";
import { KeyRound } from "../parts/icons.tsx";
import { SERVER_URL } from "../server/connection.ts";
import { refusal, signIn, wantsKey } from "./access.ts";

export function SignIn() {
  const [key, setKey] = useState("");
  const [keep, setKeep] = useState(true);
  const trying = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    void trying.run(async () => {
      const given = key.trim();
      if (given === "") throw new Error("Enter an API key.");
      if (!/^[\x21-\x7e]+$/.test(given)) throw new Error("A key has no spaces and only plain characters.");
      unwrap(
        await createClient({ url: SERVER_URL, key: given }).GET("/environment").then(acceptNoEnvironment),
      );
      signIn(given, keep);
    });
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <Brand />
        <div>
          <h1>Sign in</h1>
          <p>This server asks for an API key. It stays in this tab and is sent to this server only.</p>
        </div>
        {refusal.value === null || trying.error !== null ? null : (
          <div class="notice wait" role="alert">
            <div>{refusal.value}</div>
          </div>
        )}
        <Failure error={trying.error} />
        <TextField label="API key" type="password" value={key} onInput={setKey} required />
        <CheckField label="Stay signed in when this tab reloads" checked={keep} onChange={setKeep} />
        <button type="submit" class="button primary" disabled={trying.isBusy}>
          <KeyRound /> Sign in
        </button>
        {wantsKey.value ? (
          <button
            type="button"
            class="button quiet"
            onClick={() => {
              wantsKey.value = false;
            }}
          >
            Go on without a key
          </button>
        ) : null}
      </form>
    </main>
  );
}

/** A server without an environment has no report, but it has let the key in. */
function acceptNoEnvironment<T extends { response: Response }>(answer: T): T {
  return answer.response.status === 503 ? { ...answer, error: undefined, response: new Response() } : answer;
}
