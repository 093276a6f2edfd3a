/** The editor's appearance: the page's colours, and a mark on the line where a run failed. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorSelection, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Colours are the page's CSS variables, so one theme works in light and dark. */
const look = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "transparent", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", fontVariantLigatures: "none" },
  ".cm-content": { caretColor: "var(--accent)", padding: "10px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused .cm-scroller": { boxShadow: "inset 0 0 0 2px var(--accent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "light-dark(#cfe8e4, #1f4a46)",
  },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "transparent", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in oklab, var(--hover) 60%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--text)", backgroundColor: "transparent" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--accent-soft)",
    outline: "none",
  },
  ".cm-tooltip, .cm-panels": {
    color: "var(--text)",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius-small)",
    boxShadow: "var(--shadow-high)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent-fill)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionInfo": { maxWidth: "380px", whiteSpace: "pre-wrap", fontFamily: "var(--sans)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-error-line": { backgroundColor: "var(--bad-soft) !important" },
  ".cm-textfield, .cm-button": { background: "var(--surface)", border: "1px solid var(--line-strong)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.typeName, tags.className],
    color: "var(--code-name)",
  },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
]);

export const editorTheme = [look, syntaxHighlighting(colours)];

/** The page's content security policy admits only styles with this nonce. */
export const styleNonce = EditorView.cspNonce.of(
  document.querySelector('meta[name="cyrnel-style-nonce"]')?.getAttribute("content") ?? "",
);

export interface MarkedError {
  /** 1-based. */
  line: number;
  column: number | null;
  message: string;
}

const mark = StateEffect.define<number | null>();
const lineMark = Decoration.line({ class: "cm-error-line" });

/** Shown until the source is edited or another run starts. */
export const errorLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = transaction.docChanged ? Decoration.none : marks;
    for (const effect of transaction.effects) {
      if (effect.is(mark))
        next = effect.value === null ? Decoration.none : Decoration.set(lineMark.range(effect.value));
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function showError(view: EditorView, error: MarkedError | null): void {
  const { doc } = view.state;
  if (error === null || error.line > doc.lines) {
    view.dispatch({ effects: mark.of(null) }, setDiagnostics(view.state, []));
    return;
  }
  const line = doc.line(error.line);
  const at = Math.min(line.to, line.from + Math.max(0, (error.column ?? 1) - 1));
  const word = /^[\w$]+/.exec(doc.sliceString(at, line.to))?.[0].length ?? 1;
  const diagnostic: Diagnostic = {
    from: at,
    to: Math.min(line.to, at + word),
    severity: "error",
    message: error.message,
  };
  view.dispatch({ effects: mark.of(line.from) });
  view.dispatch(setDiagnostics(view.state, [diagnostic]));
}

/** `line` is 1-based. */
export function goToLine(view: EditorView, line: number): void {
  const found = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
  view.dispatch({
    selection: EditorSelection.cursor(found.from),
    effects: EditorView.scrollIntoView(found.from, { y: "center" }),
  });
  view.focus();
}
