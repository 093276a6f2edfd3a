/** The document is refused; the message is for the person who wants to install it. */
export class DocumentError extends Error {
  override name = "DocumentError";
}
