import { z } from "zod";

export const flagSchema = z
  .enum(["true", "false"], { error: "expected true or false" })
  .transform((value) => value === "true")
  .optional();

export const wordsSchema = z.string().trim().max(200).optional();

export const processIdSchema = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/, "expected a process id in digits")
  .transform(Number)
  .optional();

const time = z.iso
  .datetime({ offset: true, error: "expected a date and time such as 2030-01-31T12:00:00Z" })
  .transform((value) => new Date(value))
  .optional();
export const periodFields = {
  from: time.describe("Not before this time."),
  to: time.describe("Before this time."),
};
