const { performance: clock } = globalThis;

export { clock as performance };
export class PerformanceObserver {
  observe(): void {}
  disconnect(): void {}
}
export const constants = {};
