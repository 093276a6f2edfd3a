/** Reads the list of processes anew whenever the server says that it has changed, while somebody looks. */
import { useEffect } from "preact/hooks";
import { followStream } from "./stream.ts";

export function useProcessChanges(reload: () => void): void {
  useEffect(() => {
    let stop = new AbortController();
    const restart = () => {
      stop.abort();
      stop = new AbortController();
      if (document.hidden) return;
      // Where the server refuses, it refuses the list too, and says why there.
      followStream("/processes/stream", stop.signal, reload).catch(() => {});
    };
    document.addEventListener("visibilitychange", restart);
    restart();
    return () => {
      stop.abort();
      document.removeEventListener("visibilitychange", restart);
    };
  }, [reload]);
}
