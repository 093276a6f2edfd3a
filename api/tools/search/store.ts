/** Statements of the search over tools: correcting words, ranking what matches. */
import type { Db, Fragment } from "#api/db/pool.ts";
import { type ToolFilter, type ToolRow, toolColumns } from "../store.ts";
import { type SearchWords, toLexeme } from "./words.ts";

/** What a word counts for, by where it was found; see `search` of the table. */
export const FIELD_WEIGHTS = { path: 12, name: 10, description: 5 } as const;
/** On top, for each part of the query that is a whole service id or tool id. */
export const EXACT_SEGMENT_WEIGHT = 8;
/** A word that only begins what was found, or was found after correction, counts less than the word itself. */
const PREFIX_FACTOR = 0.75;
const CORRECTED_FACTOR = 0.5;
const MAX_CORRECTIONS = 6;

/** A word of the query, and what was taken for it where nothing begins with it. */
export interface SearchWord {
  word: string;
  corrections: string[];
}

/** Whether misspelt words can be corrected: the database had pg_trgm when its schema was made. */
export async function canCorrectWords(db: Db): Promise<boolean> {
  const [row] = await db<{ found: boolean }[]>`
    select to_regprocedure('similar_tool_words(text, integer)') is not null as found`;
  return row?.found ?? false;
}

/**
 * For those of the words that begin no word in use: the words in use that look most like them, the closest first. Not
 * without `canCorrectWords`.
 */
export async function findCorrections(db: Db, words: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await db<{ word: string; similar: string[] }[]>`
    select asked.word, array(select similar_tool_words(asked.word, ${MAX_CORRECTIONS})) as similar
    from unnest(${[...words]}::text[]) as asked (word) where not exists (
      select from tool_vocabulary v
      where v.word >= (asked.word collate "C") and v.word < (asked.word || chr(1114111) collate "C"))`;
  return new Map(rows.map(({ word, similar }) => [word, similar]));
}

export interface RankedTool {
  serviceId: string;
  id: string;
  score: number;
}

export type RankedRow = ToolRow & RankedTool;

export interface RankPage {
  /** The last tool of the page before; null for the first page. */
  after: RankedTool | null;
  limit: number;
}

/** Tools that hold all words, the best first; equals by path. */
export async function rankTools(
  db: Db,
  words: readonly SearchWord[],
  segments: SearchWords["segments"],
  filter: ToolFilter,
  page: RankPage,
): Promise<RankedRow[]> {
  // A single word counts more in any path or name than in any description: where those fill the page, the
  // descriptions, which hold common words thousands of times, need not be looked at.
  if (words.length === 1) {
    const best = await rankWithin(db, words, segments, "names", filter, page);
    if (best.length === page.limit) return best;
  }
  return rankWithin(db, words, segments, "all", filter, page);
}

/** `fields` says where a match counts; what a match is worth is counted over all fields either way. */
function rankWithin(
  db: Db,
  words: readonly SearchWord[],
  segments: SearchWords["segments"],
  fields: "names" | "all",
  filter: ToolFilter,
  page: RankPage,
): Promise<RankedRow[]> {
  const { serviceId = null, enabled = null, effective = false } = filter;
  const all = words.map((word) => `(${match(word)})`).join(" & ");
  const { after } = page;
  return db<RankedRow[]>`
    select ${toolColumns(db)}, best.score from (
      select "serviceId", id, score from (
      select t.service_id as "serviceId", t.id, (${sumOf(
        db,
        words.map((word) => scoreOf(db, word)),
      )}
        + ${EXACT_SEGMENT_WEIGHT} * (lower(t.service_id) = any(${[...segments]}::text[]))::int
        + ${EXACT_SEGMENT_WEIGHT} * (lower(t.id) = any(${[...segments]}::text[]))::int)::float8 as score
      from tools t
      where ${fields === "all" ? db`t.search` : db`ts_filter(t.search, '{a,b}')`} @@ ${all}::tsquery
        and (${serviceId}::text is null or t.service_id = ${serviceId})
        and (${enabled}::boolean is null or t.enabled = ${enabled})
        and (not ${effective}::boolean or (t.enabled and t.service_id = any(array(
          select s.id from services s join modules m on m.id = s.adapter
          where s.enabled and not s.stale and m.enabled and not m.missing))))
    ) ranked
    where ${after === null}::boolean or (-score, "serviceId" collate "C", id collate "C")
      > (-${after?.score ?? 0}::float8, ${after?.serviceId ?? ""}, ${after?.id ?? ""})
      order by score desc, "serviceId" collate "C", id collate "C" limit ${page.limit}
    ) best join tools t on t.service_id = best."serviceId" and t.id = best.id
      join services s on s.id = t.service_id join modules m on m.id = s.adapter
    order by best.score desc, t.service_id collate "C", t.id collate "C"`;
}

/** A word as given or as the start of another; corrected, also one of the corrections. */
function match({ word, corrections }: SearchWord): string {
  return [toLexeme(word, ":*"), ...corrections.map((other) => toLexeme(other, ""))].join(" | ");
}

/**
 * What one word is worth, in a row that holds it. Nearly all rows that are ranked hold it in the description only: these
 * are told by one look at path and name, and then it is in the description for certain.
 */
function scoreOf(db: Db, searched: SearchWord): Fragment {
  const { path, name, description } = FIELD_WEIGHTS;
  return db`case when t.search @@ ${anywhere(searched, "AB")}::tsquery
    then ${fieldScore(db, searched, "A", path)} + ${fieldScore(db, searched, "B", name)}
      + ${fieldScore(db, searched, "C", description)}
    else ${fieldScore(db, searched, "C", description)} end`;
}

function fieldScore(db: Db, searched: SearchWord, letter: string, weight: number): Fragment {
  const { word, corrections } = searched;
  return corrections.length === 0
    ? db`case when t.search @@ ${toLexeme(word, `:${letter}`)}::tsquery then ${weight}::float8
        when t.search @@ ${toLexeme(word, `:*${letter}`)}::tsquery then ${weight * PREFIX_FACTOR}::float8 else 0 end`
    : db`case when t.search @@ ${anywhere(searched, letter)}::tsquery
        then ${weight * CORRECTED_FACTOR}::float8 else 0 end`;
}

/** The word in one of the fields: its beginning, or one of its corrections. */
function anywhere({ word, corrections }: SearchWord, letters: string): string {
  return corrections.length === 0
    ? toLexeme(word, `:*${letters}`)
    : corrections.map((other) => toLexeme(other, `:${letters}`)).join(" | ");
}

function sumOf(db: Db, terms: Fragment[]): Fragment {
  return terms.reduce((sum, term) => db`${sum} + ${term}`, db`0::float8`);
}
