/** How deep JSON may be nested in a request, found out from its text. Its own file because a thread needs it as well. */

export const MAX_BODY_DEPTH = 100;

/** Whether brackets outside of strings open deeper than `max`; looks at the text, so nothing is built for it. */
export function isNestedDeeper(text: string, max: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index);
    if (inString) {
      if (character === 0x5c) index++;
      else if (character === 0x22) inString = false;
    } else if (character === 0x22) inString = true;
    else if (character === 0x7b || character === 0x5b) {
      depth++;
      if (depth > max) return true;
    } else if (character === 0x7d || character === 0x5d) depth--;
  }
  return false;
}
