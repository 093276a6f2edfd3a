/** The search over tools: words of a query, corrected where nothing begins with them, then ranked by the database. */
import type { Db } from "#api/db/pool.ts";
import type { ToolFilter } from "../store.ts";
import {
  canCorrectWords,
  findCorrections,
  type RankedRow,
  type RankPage,
  rankTools,
  type SearchWord,
} from "./store.ts";
import { isCorrectable, splitQuery } from "./words.ts";

export interface ToolSearch {
  /** Null when the query holds no word. */
  rank(query: string, filter: ToolFilter, page: RankPage): Promise<RankedRow[] | null>;
}

export function createToolSearch(db: Db): ToolSearch {
  let canCorrect: Promise<boolean> | null = null;

  /** Asked once; again only after a failure. */
  function readCanCorrect(): Promise<boolean> {
    canCorrect ??= canCorrectWords(db).catch((error) => {
      canCorrect = null;
      throw error;
    });
    return canCorrect;
  }

  async function correct(words: readonly string[]): Promise<SearchWord[]> {
    const candidates = words.filter(isCorrectable);
    const isAsked = candidates.length > 0 && (await readCanCorrect());
    const similar = isAsked ? await findCorrections(db, candidates) : new Map<string, string[]>();
    return words.map((word) => ({ word, corrections: similar.get(word) ?? [] }));
  }

  return {
    async rank(query, filter, page) {
      const { words, segments } = splitQuery(query);
      if (words.length === 0) return null;
      return rankTools(db, await correct(words), segments, filter, page);
    },
  };
}
