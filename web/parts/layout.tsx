/** Building blocks of pages: head, cards, lists, facts, notices. */
import type { AriaRole, ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

interface PageHeadProps {
  title: ComponentChildren;
  about?: ComponentChildren;
  back?: { href: string; label: string };
  children?: ComponentChildren;
}

export function PageHead({ title, about, back, children }: PageHeadProps) {
  return (
    <header class="page-head">
      <div>
        {back === undefined ? null : (
          <a class="crumb" href={back.href}>
            ← {back.label}
          </a>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {about === undefined ? null : <p>{about}</p>}
      </div>
      <div class="row">{children}</div>
    </header>
  );
}

interface CardProps {
  title?: string;
  side?: ComponentChildren;
  /** Removes the padding around the content. */
  flush?: boolean;
  children: ComponentChildren;
}

export function Card({ title, side, flush = false, children }: CardProps) {
  return (
    <section class="card">
      {title === undefined ? null : (
        <div class="card-head">
          <h2>{title}</h2>
          <div class="row">{side}</div>
        </div>
      )}
      <div class={flush ? "card-body flush" : "card-body"}>{children}</div>
    </section>
  );
}

interface ListProps<T> extends Omit<CardProps, "flush" | "children"> {
  items: readonly T[];
  empty: ComponentChildren;
  foot?: ComponentChildren;
  /** A `Row`, or another `li`. */
  children: (item: T, index: number) => ComponentChildren;
}

export function List<T>({ items, empty, foot, children, ...head }: ListProps<T>) {
  return (
    <Card flush {...head}>
      {items.length === 0 ? empty : <ol class="list">{items.map(children)}</ol>}
      {foot}
    </Card>
  );
}

interface RowProps {
  before?: ComponentChildren;
  side: ComponentChildren;
  children: ComponentChildren;
}

/** A row with its subject on the left and its state on the right. */
export function Row({ before, side, children }: RowProps) {
  return (
    <li class="list-row">
      {before}
      <div class="list-main">{children}</div>
      <div class="row list-side">{side}</div>
    </li>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  text?: string;
  /** Actions that resolve the problem. */
  children?: ComponentChildren;
}

export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {text === undefined ? null : <p>{text}</p>}
      {children}
    </div>
  );
}

interface NoticeProps {
  look: "good" | "bad" | "wait";
  icon?: IconName;
  role?: AriaRole;
  children: ComponentChildren;
}

export function Notice({ look, icon, role, children }: NoticeProps) {
  return (
    <div class={`notice ${look}`} {...(role && { role })}>
      {icon === undefined ? null : <Icon name={icon} />}
      <div>{children}</div>
    </div>
  );
}

export function Facts({ facts }: { facts: Record<string, ComponentChildren> }) {
  return (
    <dl class="facts">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface TableProps {
  columns: readonly ComponentChildren[];
  /** The first cell of each row is its heading. */
  rows: readonly (readonly ComponentChildren[])[];
}

export function Table({ columns, rows }: TableProps) {
  return (
    <table class="table">
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={index} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([heading, ...cells], index) => (
          <tr key={index}>
            <th scope="row" class="fit">
              {heading}
            </th>
            {cells.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FoldProps {
  summary: ComponentChildren;
  summaryClass?: string;
  children: () => ComponentChildren;
}

/** Collapsed details, rendered when first opened: of hundreds of rows, most never are. */
export function Fold({ summary, summaryClass = "", children }: FoldProps) {
  const [wasOpened, setOpened] = useState(false);
  return (
    <details onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary class={summaryClass}>{summary}</summary>
      {wasOpened ? children() : null}
    </details>
  );
}

const AT_END_PX = 40;

interface TailProps {
  label: string;
  class: string;
  role?: AriaRole;
  /** True if more items may arrive. */
  isLive?: boolean;
  children: ComponentChildren;
}

/** Scrollable list that stays at its end as items arrive, unless the user has scrolled up. */
export function Tail({ label, class: name, role = "region", isLive = true, children }: TailProps) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const { current } = element;
    if (current !== null && isAtEnd.current && isLive) current.scrollTop = current.scrollHeight;
  });
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: its role is given, and has a name
    <div
      ref={element}
      class={name}
      // Scrollable, so it must be reachable by keyboard.
      tabIndex={0}
      role={role}
      aria-live="off"
      aria-label={label}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < AT_END_PX;
      }}
    >
      {children}
    </div>
  );
}
