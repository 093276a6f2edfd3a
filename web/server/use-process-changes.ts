/** Reads the list of processes anew whenever the server says that it has changed, while somebody looks. */
import { useEffect } from "preact/hooks";
import { followStream } from "./stream.ts";

export function useProcessChanges(reload: () => void): void {
  useEffect(() => {
    const stop = new AbortController();
    // Where the server refuses, it refuses the list too, and says why there.
    followStream("/processes/stream", stop.signal, reload).catch(() => {});
    return () => stop.abort();
  }, [reload]);
}
