/** What a run prints, as text and nothing but text. Stays at the end while new lines come, unless somebody scrolls up. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../parts/format.ts";
import type { RunFeed } from "./feed.ts";
import { toPlainText } from "./terminal-text.ts";

const AT_END_PX = 40;

export function ConsoleOutput({ feed, isLive }: { feed: RunFeed; isLive: boolean }) {
  const element = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  const { chunks, droppedCharacters } = feed;
  useLayoutEffect(() => {
    const { current } = element;
    if (current !== null && isAtEnd.current && isLive) current.scrollTop = current.scrollHeight;
  }, [chunks, isLive]);
  return (
    <section
      ref={element}
      class="console"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
      tabIndex={0}
      aria-label="Output of the script"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < AT_END_PX;
      }}
    >
      {droppedCharacters > 0 ? (
        <span class="none">
          … {count(droppedCharacters, "earlier character")} not shown here{"\n"}
        </span>
      ) : null}
      {chunks.length === 0 ? (
        <span class="none">{isLive ? "Nothing yet." : "It printed nothing."}</span>
      ) : null}
      {chunks.map(({ stream, text }, index) => (
        <span key={index} class={stream}>
          {toPlainText(text)}
        </span>
      ))}
    </section>
  );
}
