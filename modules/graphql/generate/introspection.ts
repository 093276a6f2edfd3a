/** Asks an endpoint for its schema: first with everything newer servers can tell, then in the oldest way. */
import { getIntrospectionQuery, type IntrospectionOptions } from "graphql";
import { quoteForeign } from "#modules/shared/failures.ts";
import { type Endpoint, post } from "../call/endpoint.ts";
import { GraphqlFailure } from "../failures.ts";
import { unwrapIntrospection } from "./definition.ts";

const ATTEMPTS: IntrospectionOptions[] = [
  { descriptions: true, specifiedByUrl: true, inputValueDeprecation: true, oneOf: true },
  { descriptions: true },
];

/** The `{__schema}` of its answer. @throws GraphqlFailure */
export async function introspect(endpoint: Endpoint): Promise<unknown> {
  let refusal = "it answered no schema";
  for (const options of ATTEMPTS) {
    const { data, errors, status } = await post(endpoint, {
      query: getIntrospectionQuery(options),
      operationName: "IntrospectionQuery",
    });
    const result = unwrapIntrospection(data);
    if (result !== null) return result;
    if (status === 401 || status === 403) {
      throw new GraphqlFailure("graphql_refused", `The endpoint answered ${status}: ${firstOf(errors)}`, {
        status,
      });
    }
    if (errors.length > 0) refusal = firstOf(errors);
  }
  throw new GraphqlFailure(
    "graphql_bad_definition",
    `The endpoint does not tell its schema: ${refusal}. Where introspection is turned off, put "sdl" or "introspection" into the definition.`,
  );
}

function firstOf(errors: { message: string }[]): string {
  return quoteForeign(errors[0]?.message ?? "no text", 500);
}
