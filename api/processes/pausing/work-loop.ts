/**
 * Returns a function that makes all due changes. `step` makes one change and resolves with false if none is due; it
 * never runs twice at the same time. `onError` receives everything it throws.
 */
export function createWorkLoop(step: () => Promise<boolean>, onError: (error: unknown) => void): () => void {
  let isWorking = false;
  let lookAgain = false;
  async function work(): Promise<void> {
    isWorking = true;
    try {
      while (lookAgain) {
        lookAgain = false;
        while (await step()) {}
      }
    } catch (error) {
      onError(error);
    } finally {
      isWorking = false;
    }
  }
  return () => {
    lookAgain = true;
    if (!isWorking) void work();
  };
}
