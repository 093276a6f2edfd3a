/** Makes changes one after another, however often somebody asks for them. */

/**
 * Returns a function that makes every change that is due. `step` makes one and resolves with false if there is none; it never runs
 * twice at the same time. `onError` gets whatever it throws.
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
