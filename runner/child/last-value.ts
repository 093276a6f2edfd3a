/**
 * A script without `return` returns the value of its last expression as this only member of an object without prototype: it is no more than
 * the best result to be had, and dropped where JSON cannot hold it.
 */
export const LAST_VALUE = "cyrnel:last";
