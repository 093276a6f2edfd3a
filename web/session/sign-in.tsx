/** Sign-in with an API key, which is checked before it is stored. */
import { useState } from "preact/hooks";
import { createClient } from "#client/client.ts";
import { unwrap } from "#client/errors.ts";
import { useAction } from "../parts/action.tsx";
import { Button } from "../parts/controls.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckField, TextField } from "../parts/fields.tsx";
import { Brand } from "../parts/icons.tsx";
import { Notice } from "../parts/layout.tsx";
import { refusal, signIn, wantsKey } from "../server/access.ts";
import { SERVER_URL } from "../server/connection.ts";

const WRONG_KEY = "This key is wrong, revoked or expired. Check that you copied all of it.";

export function SignIn() {
  const [key, setKey] = useState("");
  const [keep, setKeep] = useState(true);
  const trying = useAction();
  const submit = (event: Event) => {
    event.preventDefault();
    trying.run(async () => {
      const given = key.trim();
      if (given === "") throw new Error("Enter an API key.");
      if (!/^[\x21-\x7e]+$/.test(given))
        throw new Error("A key contains no spaces and only ASCII characters.");
      const answer = await createClient({ url: SERVER_URL, key: given }).GET("/environment");
      if (answer.response.status === 401) throw new Error(WRONG_KEY);
      // A server without an active environment returns 503, but it has accepted the key.
      if (answer.response.status !== 503) unwrap(answer);
      signIn(given, keep);
    });
  };
  const goOnWithout = () => {
    wantsKey.value = false;
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <Brand />
        <div>
          <h1>Sign in</h1>
          <p>
            This server needs an API key: the one it was started with (<code>CYRNEL_API_KEY</code>), or one
            that an administrator created for you. It stays in this tab and is sent only to this server.
          </p>
        </div>
        {refusal.value === null || trying.error !== null ? null : (
          <Notice look="wait" role="alert">
            {refusal.value}
          </Notice>
        )}
        <Failure error={trying.error} />
        <TextField label="API key" type="password" value={key} onChange={setKey} required />
        <CheckField label="Keep me signed in in this tab" checked={keep} onChange={setKeep} />
        <Button type="submit" look="primary" icon="key-round" disabled={trying.isBusy}>
          Sign in
        </Button>
        {wantsKey.value ? (
          <Button look="quiet" onClick={goOnWithout}>
            Continue without a key
          </Button>
        ) : null}
      </form>
    </main>
  );
}
