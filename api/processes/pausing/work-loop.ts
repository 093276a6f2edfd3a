/** One change after another: whoever sees that something may be due says so, any number of times. */

/**
 * The function to say so with. `step` makes one change and answers false when there is nothing to do now; it is never
 * called while another is under way. `failed` is told of what it throws.
 */
export function createWorkLoop(step: () => Promise<boolean>, failed: (error: unknown) => void): () => void {
  let isWorking = false;
  let lookAgain = false;
  async function work(): Promise<void> {
    try {
      while (lookAgain) {
        lookAgain = false;
        while (await step()) {}
      }
    } catch (error) {
      failed(error);
    } finally {
      isWorking = false;
    }
  }
  return () => {
    lookAgain = true;
    if (isWorking) return;
    isWorking = true;
    void work();
  };
}
