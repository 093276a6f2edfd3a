/** Building blocks of pages: head, cards, lists, facts, notices. */
import type { AriaRole, ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

interface PageHeadProps {
  title: ComponentChildren;
  about?: ComponentChildren;
  back?: { href: string; label: string };
  /** Actions for what the page shows. */
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
  /** At the right of the title. */
  side?: ComponentChildren;
  /** Its content reaches its edges. */
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
  /** In place of a list without items. */
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

/** At the left what it is, at the right how it is. */
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
  /** Actions that help. */
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
  /** The first of each is its heading. */
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

/** Details under a line, made when they are first opened: of hundreds of rows, most never are. */
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
  /** True if there are more items. */
  isLive?: boolean;
  children: ComponentChildren;
}

/** Scrolls, and stays at its end while more comes, unless a person has scrolled up. */
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
      // It scrolls, so the keyboard must reach it.
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
