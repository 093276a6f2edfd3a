-- Words that look like a misspelt one are found by an inverted index of their trigrams: a search tree of them is walked
-- for most of its pages at each question. Below 0.25 words have little in common; two letters swapped in a short one are at it.
do $$
begin
  if not exists (select from pg_extension where extname = 'pg_trgm') then
    return;
  end if;
  drop index if exists tool_vocabulary_trigrams;
  create index tool_vocabulary_trigrams on tool_vocabulary using gin (word gin_trgm_ops) with (fastupdate = off);
  -- Loads the extension, which makes its setting known.
  perform similarity('a', 'b');
  create function similar_tool_words(asked text, most integer) returns setof text
    language sql stable strict
    set pg_trgm.similarity_threshold = 0.25
    as 'select word from tool_vocabulary where word % asked order by word <-> asked, word limit most';
end
$$;
