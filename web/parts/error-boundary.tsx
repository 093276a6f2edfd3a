/** One broken view must not take the others with it. */
import { Component, type ComponentChildren } from "preact";

interface Props {
  children?: ComponentChildren;
  /** In place of what failed. */
  fallback?: ComponentChildren;
}

export class ErrorBoundary extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    if (this.props.fallback !== undefined) return this.props.fallback;
    return (
      <div class="notice bad" role="alert">
        <div class="stack tight">
          <p>This view could not be shown: {error.message}</p>
          <div>
            <button type="button" class="button small" onClick={() => location.reload()}>
              Load the page again
            </button>
          </div>
        </div>
      </div>
    );
  }
}
