/** Shows several parts at once when all of them have loaded, so that none moves another while it comes. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Loading } from "./basics.tsx";

/** Then what is there is shown, whatever is missing. */
const MAX_WAIT_MS = 4000;

/** What loads anew later is shown as it comes. */
export function Settled({
  children,
  class: name = "stack",
}: {
  children: ComponentChildren;
  class?: string;
}) {
  const element = useRef<HTMLDivElement>(null);
  const [isSettled, setSettled] = useState(false);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return;
    const observer = new MutationObserver(() => look());
    const timer = setTimeout(() => settle(), MAX_WAIT_MS);
    const settle = () => {
      observer.disconnect();
      clearTimeout(timer);
      setSettled(true);
    };
    const look = () => {
      if (current.querySelector(".loading") === null) settle();
    };
    observer.observe(current, { childList: true, subtree: true });
    look();
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, []);
  return (
    <>
      {isSettled ? null : <Loading />}
      <div ref={element} class={name} style={isSettled ? {} : { display: "none" }}>
        {children}
      </div>
    </>
  );
}
