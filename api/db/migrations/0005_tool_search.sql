-- Searching tools: full text over path, name and description, and the words in use, for what was misspelt.
-- pg_trgm comes with Postgres but not with every package of it: without it, misspelt words are not corrected.
do $$
begin
  create extension if not exists pg_trgm;
exception when others then
  raise notice 'pg_trgm is not available: misspelt words are not corrected when tools are searched';
end
$$;

-- Lower case words of an identifier or a text: camelCase and everything that is neither letter nor digit separate them.
-- Classes of characters are spelled out: they must not depend on the locale of a database.
create function tool_words(source text) returns text
language sql immutable parallel safe strict as $$
  select lower(regexp_replace(
    regexp_replace(
      regexp_replace(source, '([a-z0-9])([A-Z])', '\1 \2', 'g'),
      '([A-Z])([A-Z][a-z])', '\1 \2', 'g'),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+', ' ', 'g'))
$$;

-- SHA-256 of JSON text, hexadecimal: what is made of a schema is cached by it.
create function schema_hash(source json) returns text
language sql immutable parallel safe strict as $$
  select encode(sha256(convert_to(source::text, 'UTF8')), 'hex')
$$;

-- Weights: A the path (its words, and each segment whole), B the name, C the start of the description.
alter table tools
  add column input_hash text not null generated always as (schema_hash(input_schema)) stored,
  add column output_hash text not null generated always as (schema_hash(output_schema)) stored,
  add column search tsvector not null generated always as (
    setweight(to_tsvector('simple', tool_words(service_id || '.' || id) || ' ' || lower(service_id) || ' ' || lower(id)), 'A')
    || setweight(to_tsvector('simple', tool_words(left(name, 500))), 'B')
    || setweight(to_tsvector('simple', tool_words(left(description, 4000))), 'C')
  ) stored;
create index tools_search on tools using gin (search) with (fastupdate = off);
-- A common word is in thousands of descriptions and in few names.
create index tools_search_names on tools using gin (ts_filter(search, '{a,b}')) with (fastupdate = off);

-- The words of `tools.search` that can be misspelt: no numbers, not shorter than a trigram; each once.
create table tool_vocabulary (word text collate "C" primary key);
do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index tool_vocabulary_trigrams on tool_vocabulary using gist (word gist_trgm_ops);
  end if;
end
$$;

-- One change of the vocabulary at a time: two transactions that add each other's words would wait for each other for
-- ever, and a word must not be dropped while another transaction begins to use it.
create function learn_tool_words() returns trigger language plpgsql as $$
begin
  -- Most updates switch a tool on or off.
  if tg_op = 'UPDATE' and not exists (
    select from changed c, unnest(tsvector_to_array(c.search)) w
    where length(w) between 3 and 40 and not w ~ '[0-9]' and not exists (select from tool_vocabulary v where v.word = w)
  ) then
    return null;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('cyrnel tool vocabulary', 0));
  insert into tool_vocabulary (word)
    select distinct word from changed, unnest(tsvector_to_array(search)) word
    where length(word) between 3 and 40 and not word ~ '[0-9]'
    order by word
    on conflict do nothing;
  return null;
end
$$;
create trigger tools_learn_words after insert on tools
  referencing new table as changed for each statement execute function learn_tool_words();
create trigger tools_relearn_words after update on tools
  referencing new table as changed for each statement execute function learn_tool_words();

create function forget_tool_words() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('cyrnel tool vocabulary', 0));
  delete from tool_vocabulary v
    using (select distinct word from changed, unnest(tsvector_to_array(search)) word) gone
    where v.word = gone.word
      and not exists (select from tools t where t.search @@ (quote_literal(gone.word)::tsquery));
  return null;
end
$$;
create trigger tools_forget_words after delete on tools
  referencing old table as changed for each statement execute function forget_tool_words();
