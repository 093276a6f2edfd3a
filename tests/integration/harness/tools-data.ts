/** Services whose tools have names and descriptions as those of real APIs; the same ones each time. */
import type { Pool } from "#api/db/pool.ts";

const VERBS =
  "get list create update delete search add remove archive restore export import assign cancel approve merge lock check".split(
    " ",
  );
const NOUNS =
  "issue comment repository user invoice payment customer order product ticket project milestone label branch release deployment webhook secret token policy report dashboard alert channel message thread file folder document page contract account subscription refund charge session calendar event contact".split(
    " ",
  );
const SERVICES =
  "github gitlab jira linear stripe shopify slack teams notion drive dropbox sentry grafana datadog pagerduty zendesk intercom hubspot salesforce mailgun".split(
    " ",
  );
const FILLER =
  "the a of for with in by that which when this given its every one all only if be is are may must not and or from to at on returns provides allows requires authenticated organisation permission scope pagination results default optional identifier resource endpoint request response token access public private owner name list array field value status state created updated timestamp filter sort direction page size limit event hook member team role".split(
    " ",
  );
const BATCH = 500;

/** Inserts `count` tools. Their services and adapter are enabled. */
export async function insertTools(pool: Pool, count: number, perService: number): Promise<void> {
  await pool`
    insert into modules (id, type, name, description, is_builtin, enabled, hash)
    values ('bench', 'adapter', 'Bench', '', true, true, ${"0".repeat(64)}) on conflict do nothing`;
  const random = createRandom(7);
  const rows = Array.from({ length: count }, (_, index) => makeTool(index, perService, random));
  const services = [...new Set(rows.map((row) => row.service_id))].map((id) => ({
    id,
    name: id,
    description: `The ${id} API`,
    adapter: "bench",
    hash: "0".repeat(64),
    definition: "",
    adapter_domain: {},
    config_schema: {},
    secrets_schema: {},
    enabled: true,
  }));
  await pool`insert into services ${pool(services as never)}`;
  for (let start = 0; start < rows.length; start += BATCH) {
    await pool`insert into tools ${pool(rows.slice(start, start + BATCH) as never)}`;
  }
  await pool`analyze tools`;
}

function makeTool(index: number, perService: number, random: () => number) {
  const pick = (words: readonly string[]) => words[Math.floor(random() * words.length)] as string;
  const service = Math.floor(index / perService);
  const base = SERVICES[service % SERVICES.length] as string;
  const service_id = service < SERVICES.length ? base : `${base}${Math.floor(service / SERVICES.length) + 1}`;
  const [verb, noun, other] = [pick(VERBS), pick(NOUNS), pick(NOUNS)];
  const position = index % perService;
  const capital = noun.charAt(0).toUpperCase() + noun.slice(1);
  const words = Array.from({ length: 20 + Math.floor(random() * 40) }, () =>
    random() < 0.03 ? makeRareWord(random) : pick(random() < 0.2 ? NOUNS : FILLER),
  );
  return {
    service_id,
    id: `${verb}${capital}${position}`,
    position,
    name: `${verb} ${noun} (${other})`,
    description: `${words.join(" ")}.`,
    input_schema: {
      type: "object",
      properties: { [noun]: { type: "string", description: words.join(" ") }, page: { type: "integer" } },
      required: [noun],
    },
    output_schema: { type: "object", properties: { status: { type: "string" } } },
    adapter_domain: {},
    destructive: verb === "delete",
  };
}

function makeRareWord(random: () => number): string {
  const letters = Array.from({ length: 4 + Math.floor(random() * 6) }, () => 97 + Math.floor(random() * 26));
  return String.fromCharCode(...letters);
}

/** A small linear congruential generator: the same rows in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
