/**
 * Checks values against JSON Schemas. The schema of a question is a script's: it may hold no references and is bounded,
 * so that compiling it takes time in proportion to its size, and its patterns are matched in time proportional to the text.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import { compilePattern } from "#runner/linear-pattern.ts";

type JsonSchema = Record<string, unknown>;

/** What is wrong, as a sentence; null when the value fits. */
export type SchemaCheck = (value: unknown) => string | null;

const MAX_QUESTION_SCHEMA_CHARACTERS = 20_000;
/** References multiply the work; `$async` would make a check answer a promise. */
const FORBIDDEN = /"\$(?:ref|dynamicRef|recursiveRef|async)"\s*:/;

/** For a schema of this program. Throws for one that cannot be compiled. */
export function compileSchema(schema: JsonSchema, name: string): SchemaCheck {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    code: { regExp: Object.assign(compilePattern, { code: "compilePattern" }) as never },
  });
  const validate = ajv.compile(schema);
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: name }));
}

/** For the schema of a question. Throws for one that is not accepted. */
export function compileQuestionSchema(schema: JsonSchema): SchemaCheck {
  const text = JSON.stringify(schema);
  if (text.length > MAX_QUESTION_SCHEMA_CHARACTERS) {
    throw new TypeError(
      `The schema of a question may have ${MAX_QUESTION_SCHEMA_CHARACTERS} characters of JSON.`,
    );
  }
  if (FORBIDDEN.test(text)) {
    throw new TypeError("The schema of a question must not hold references ($ref) or $async.");
  }
  return compileSchema(schema, "answer");
}
