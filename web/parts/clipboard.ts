/** Copying, also on a page that came over plain HTTP from another machine: there the browser has no clipboard to offer. */

/** Answers whether it was copied. */
export async function writeToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  // Inside an open dialog: what is outside of it cannot be selected.
  const parent = before?.closest("dialog") ?? document.body;
  field.className = "visually-hidden";
  parent.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
