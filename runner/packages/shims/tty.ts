/** `tty` for packages: no terminal. */
export const isatty = () => false;
export class ReadStream {}
export class WriteStream {}
