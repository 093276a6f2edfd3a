/** The script editor. Loaded when it is first shown. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { ALL, get } from "../server/api.ts";
import { editorTheme, errorLine, goToLine, type MarkedError, showError, styleNonce } from "./appearance.ts";
import { completeDeclared } from "./completion.ts";
import { type Declarations, declareInput, readDeclarations } from "./declarations.ts";
import type { InstalledPackage, PackageTypes } from "./packages.ts";

export interface EditorHandle {
  goToLine(line: number): void;
}

interface EditorProps {
  initialText: string;
  onChange?: (text: string) => void;
  /** Called on Ctrl+Enter, or Command+Enter on a Mac. */
  onRun?: () => void;
  error?: MarkedError | null;
  declarations?: string | null;
  /** Schema or example that types `cyrnel.input`. */
  input?: { inputSchema?: Record<string, unknown>; input?: unknown };
  isReadOnly?: boolean;
  label: string;
  onReady: (handle: EditorHandle) => void;
}

/** Parsing longer declarations would block the page noticeably. */
const MAX_DECLARATION_CHARACTERS = 3_000_000;

export default function Editor(props: EditorProps) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const current = useRef(props);
  current.current = props;
  /** Stays pending until declarations have loaded. */
  const known = useRef(Promise.withResolvers<Declarations>());
  const { error = null, declarations: declared = null, input = {} } = props;
  const declarations = declared && declareInput(declared, input.inputSchema ?? null, input.input);

  useEffect(() => {
    if (parent.current === null) return;
    const { initialText, isReadOnly = false, label } = current.current;
    const editor = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: initialText,
        extensions: [
          styleNonce,
          editorTheme,
          lineNumbers(),
          highlightSpecialChars(),
          bracketMatching(),
          javascript({ typescript: true }),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          highlightSelectionMatches(),
          errorLine,
          EditorState.readOnly.of(isReadOnly),
          isReadOnly
            ? []
            : editing(
                () => current.current,
                () => known.current.promise,
                loadPackagesOnce(),
              ),
        ],
      }),
    });
    view.current = editor;
    current.current.onReady({ goToLine: (line) => goToLine(editor, line) });
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    if (declarations === null || declarations.length > MAX_DECLARATION_CHARACTERS) return;
    const read = readDeclarations(declarations);
    known.current.resolve(read);
    known.current = { ...known.current, promise: Promise.resolve(read) };
  }, [declarations]);

  useEffect(() => {
    if (view.current !== null) showError(view.current, error);
  }, [error]);

  return <div class="editor" ref={parent} />;
}

/** Loads the installed packages when a script first names one, and again after a failure. */
function loadPackagesOnce(): () => Promise<PackageTypes> {
  let loading: Promise<PackageTypes> | null = null;
  async function load(): Promise<PackageTypes> {
    const { readPackages } = await import("./packages.ts");
    try {
      const { packages } = await get("/packages", ALL);
      return readPackages(packages, loadTypes);
    } catch {
      loading = null;
      return readPackages([], loadTypes);
    }
  }
  return () => {
    loading ??= load();
    return loading;
  };
}

async function loadTypes({ name, version }: InstalledPackage): Promise<Record<string, string>> {
  const { files } = await get("/packages/{name}/{version}/types", { params: { path: { name, version } } });
  return files;
}

/** Characters that wrap a selection instead of replacing it. */
const WRAPPING = /^[([{'"`]$/;

/**
 * When a browser replaces a selection itself, it keeps the removed text's colours in a style attribute, which the
 * page's content security policy rejects with a warning. This handler replaces the selection instead.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing } = event;
    const isPlain = inputType === "insertText" && data !== null && !isComposing && !WRAPPING.test(data);
    if (!isPlain || view.state.readOnly || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { scrollIntoView: true, userEvent: "input.type" });
    return true;
  },
});

function editing(
  props: () => EditorProps,
  known: () => Promise<Declarations>,
  packages: () => Promise<PackageTypes>,
) {
  return [
    lintGutter(),
    history(),
    replaceSelection,
    drawSelection(),
    indentOnInput(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    placeholder("return await tools.…"),
    autocompletion({ override: [completeDeclared(known, packages)] }),
    // Tab moves the focus, as everywhere on the page, unless a completion is offered.
    Prec.highest(
      keymap.of([
        {
          key: "Mod-Enter",
          preventDefault: true,
          run: () => {
            props().onRun?.();
            return true;
          },
        },
        { key: "Tab", run: acceptCompletion },
      ]),
    ),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) props().onChange?.(update.state.doc.toString());
    }),
  ];
}
