/** The compiler's programming interface, which TypeScript 7 does not have: the same as a package of its own. */
import { ts } from "@ts-morph/common";

export default ts;
