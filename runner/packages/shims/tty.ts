/** `tty` for packages: there is no terminal. */
export const isatty = () => false;
export class ReadStream {}
export class WriteStream {}
