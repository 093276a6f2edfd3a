/** Details under a line, made when they are first opened: among hundreds of rows nobody opens most of them. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export function Fold({
  summary,
  summaryClass = "",
  children,
}: {
  summary: ComponentChildren;
  summaryClass?: string;
  children: () => ComponentChildren;
}) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary class={summaryClass}>{summary}</summary>
      {wasOpened ? children() : null}
    </details>
  );
}
