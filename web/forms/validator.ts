/** What forms are checked with: a validator that interprets schemas, as the page's policy lets nothing be compiled. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { type RJSFSchema, type RJSFValidationError, toErrorSchema, type ValidatorType } from "@rjsf/utils";

const DRAFT = "2020-12";
const ROOT_KEY = "$defs";

/** A schema that cannot be read refuses nothing: the server is the judge. */
function validate(schema: RJSFSchema, data: unknown): OutputUnit[] {
  try {
    return new Validator(schema as Schema, DRAFT, false).validate(data ?? null).errors;
  } catch {
    return [];
  }
}

function toError({ instanceLocation, error }: OutputUnit): RJSFValidationError {
  const property = instanceLocation
    .replace(/^#/, "")
    .split("/")
    .filter((part) => part !== "")
    .map((part) => `.${part.replaceAll("~1", "/").replaceAll("~0", "~")}`)
    .join("");
  return { property, message: error, stack: `${property || "value"}: ${error}` };
}

export const formValidator: ValidatorType = {
  validateFormData(data, schema) {
    // "Some member of it does not fit" says nothing beside the member that does not.
    const errors = validate(schema, data)
      .filter(({ keyword }) => keyword !== "properties" && keyword !== "items" && keyword !== "$ref")
      .map(toError);
    return { errors, errorSchema: toErrorSchema(errors) };
  },
  isValid(schema, data, root) {
    const whole = root?.[ROOT_KEY] === undefined ? schema : { [ROOT_KEY]: root[ROOT_KEY], ...schema };
    return validate(whole, data).length === 0;
  },
  rawValidation: (schema, data) => ({ errors: validate(schema, data) as never[] }),
};
