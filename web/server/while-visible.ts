/** A connection only while somebody looks: browsers open six to a server in all, and tabs in the background would hold them. */

/**
 * Calls `follow` as soon as the page is visible, with a signal that aborts when it is hidden, and again when it is shown;
 * until `follow` ends by itself, as its promise does, or `signal` aborts.
 */
export async function whileVisible(
  signal: AbortSignal,
  follow: (visible: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await becomeVisible(signal);
    const hidden = new AbortController();
    const onChange = () => {
      if (document.hidden) hidden.abort();
    };
    document.addEventListener("visibilitychange", onChange);
    try {
      await follow(AbortSignal.any([signal, hidden.signal]));
      if (!hidden.signal.aborted) return;
    } catch (error) {
      if (!hidden.signal.aborted) throw error;
    } finally {
      document.removeEventListener("visibilitychange", onChange);
    }
  }
}

/** At once if it is; also where `signal` aborts. */
function becomeVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}
