/** Loading states, and errors: the server's message and what can be done. */
import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CyrnelError } from "#client/errors.ts";
import type { Resource } from "../server/api.ts";
import { Button } from "./controls.tsx";
import { formatMs } from "./format.tsx";
import { Notice } from "./layout.tsx";

interface LoadedProps<T> {
  resource: Resource<T>;
  /** Error of an action on the resource. Shown in preference to the resource's own error. */
  error?: unknown;
  children: (data: T) => ComponentChildren;
}

/** Shows the loaded data; before that, a loading state or the error. */
export function Loaded<T>({ resource: { data, error, reload }, error: other, children }: LoadedProps<T>) {
  return (
    <>
      <Failure error={other ?? error} retry={reload} />
      {data !== null ? children(data) : error === null ? <Loading /> : null}
    </>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}

export function describeFailure(error: unknown): string {
  if (error instanceof CyrnelError) return error.message + describeWait(error);
  if (error instanceof TypeError) return "Cannot reach the server.";
  return error instanceof Error ? error.message : String(error);
}

function describeWait({ status, retryAfterMs }: CyrnelError): string {
  return status === 429 && retryAfterMs !== null
    ? ` Try again in ${formatMs(Math.max(1000, retryAfterMs))}.`
    : "";
}

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === null || error === undefined) return null;
  const known = error instanceof CyrnelError ? error : null;
  const issues = known?.issues ?? [];
  return (
    <Notice look="bad" role="alert" icon="circle-alert">
      <p>{describeFailure(error)}</p>
      {issues.length > 1 || (issues.length === 1 && issues[0]?.path !== "body") ? (
        <ul class="details small">
          {issues.map((issue) => (
            <li key={issue.path + issue.message}>
              <code>{issue.path}</code> {issue.message}
            </li>
          ))}
        </ul>
      ) : null}
      {known === null ? null : (
        <p class="details small">
          <code>{known.code}</code>
          {known.requestId === null ? null : (
            <>
              {" · request "}
              <code>{known.requestId}</code>
            </>
          )}
        </p>
      )}
      {retry === undefined ? null : (
        <Button look="small" onClick={retry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}

/**
 * Shows several parts at once when all of them have loaded, so that none moves another. Parts added later are shown
 * as they load.
 */
export function Settled({ children }: { children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  const [isSettled, setSettled] = useState(false);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    const stop = () => {
      observer.disconnect();
      clearTimeout(timer);
    };
    const settle = () => {
      stop();
      setSettled(true);
    };
    const look = () => {
      if (current.querySelector(".loading") === null) settle();
    };
    const observer = new MutationObserver(look);
    const timer = setTimeout(settle, MAX_WAIT_MS);
    observer.observe(current, { childList: true, subtree: true });
    look();
    return stop;
  }, []);
  return (
    <>
      {isSettled ? null : <Loading />}
      <div ref={element} class="stack" style={isSettled ? {} : { display: "none" }}>
        {children}
      </div>
    </>
  );
}

/** After this time, shows the parts that have loaded. */
const MAX_WAIT_MS = 4000;

interface ErrorBoundaryProps {
  children?: ComponentChildren;
  fallback?: ComponentChildren;
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, { error: Error | null }> {
  override state = { error: null as Error | null };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    if (this.props.fallback !== undefined) return this.props.fallback;
    return (
      <Notice look="bad" role="alert">
        <p>Could not show this page: {error.message}</p>
        <Button look="small" onClick={() => location.reload()}>
          Reload
        </Button>
      </Notice>
    );
  }
}
