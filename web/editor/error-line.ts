/** Marks the line of the submitted source at which a run failed: until it is edited or another run begins. */
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorSelection, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export interface MarkedError {
  /** Counted from 1. */
  line: number;
  column: number | null;
  message: string;
}

const mark = StateEffect.define<number | null>();
const lineMark = Decoration.line({ class: "cm-error-line" });

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

/** Counted from 1. */
export function goToLine(view: EditorView, line: number): void {
  const found = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
  view.dispatch({
    selection: EditorSelection.cursor(found.from),
    effects: EditorView.scrollIntoView(found.from, { y: "center" }),
  });
  view.focus();
}
