import { z } from "zod";
import { pageQuerySchema } from "#api/http/cursor.ts";
import { checkFileName, contentTypeOf, MAX_FILE_NAME_BYTES } from "#kernel/file-names.ts";

export const PROJECT = "default";

const DIGEST = /^[0-9a-f]{64}$/;
const ID_PREFIX = "sha256-";
/** Media type (RFC 9110) as clients send it: a type, with parameters that are tokens or plain quoted strings. */
const MEDIA_TYPE =
  /^[a-z0-9!#$&^_.+-]{1,80}\/[a-z0-9!#$&^_.+-]{1,80}(?:; ?[a-z0-9!#$&^_.+-]{1,40}=(?:[a-z0-9!#$&^_.+:'-]{1,80}|"[\x20\x21\x23-\x5b\x5d-\x7e]{0,80}"))*$/i;
export const MAX_MEDIA_TYPE_CHARACTERS = 200;

/** SHA-256 in hexadecimal, as printed by `sha256sum`. */
export type Digest = string;

export const fileIdOf = (digest: Digest): string => `${ID_PREFIX}${digest}`;

export function isMediaType(text: string): boolean {
  return text.length <= MAX_MEDIA_TYPE_CHARACTERS && MEDIA_TYPE.test(text);
}

export const digestOf = (id: string): Digest => id.slice(ID_PREFIX.length);

export const fileIdSchema = z.string().refine((id) => id.startsWith(ID_PREFIX) && DIGEST.test(digestOf(id)), {
  error: "expected a file id: sha256- and 64 hexadecimal digits in lower case",
});

export const fileParamsSchema = z.object({ id: fileIdSchema.describe("File id.") });

export const fileNameSchema = z
  .string()
  .superRefine((name, context) => {
    const wrong = checkFileName(name);
    if (wrong !== null) context.addIssue({ code: "custom", message: `The file name ${wrong}.` });
  })
  .describe(`A relative path such as in/orders.csv, at most ${MAX_FILE_NAME_BYTES} bytes of UTF-8.`);

export const uploadQuerySchema = z.strictObject({
  name: fileNameSchema.optional().describe("File name for downloads."),
});

export const fileListQuerySchema = pageQuerySchema.extend({
  name: fileNameSchema.optional().describe("Exactly this name."),
  contentType: z.string().max(MAX_MEDIA_TYPE_CHARACTERS).optional().describe("Exactly this media type."),
});
export type FileFilter = Omit<z.output<typeof fileListQuerySchema>, "limit" | "cursor">;

export const filePositionSchema = z.int().positive();

const byteCount = z.int().nonnegative();

export const fileSchema = z
  .object({
    id: z.string().describe("`sha256-` and the SHA-256 of the content in hexadecimal."),
    name: z.string().optional(),
    size: byteCount.describe("Bytes."),
    contentType: z.string(),
    createdAt: z.string(),
    expiresAt: z.string().describe("Using it again extends this."),
  })
  .meta({ id: "File", description: "An uploaded file." });
export type FileRecord = z.output<typeof fileSchema>;

export const fileListSchema = z.object({
  files: z.array(fileSchema),
  storedBytes: byteCount.describe(
    "Bytes stored for this key: uploads, files given to its processes, and files they left or saved, each content once.",
  ),
  maxStoredBytes: byteCount.nullable().describe("Limit for the key; null for none."),
  nextCursor: z.string().nullable().describe("Pass it as `cursor` for the next page; null on the last."),
});
export type FileList = z.output<typeof fileListSchema>;

/** Loose, because a request also has other headers. */
export const contentHeadersSchema = z.looseObject({
  range: z
    .string()
    .optional()
    .describe("One range of bytes: `bytes=0-1023`. Several ranges return the whole content."),
  "if-range": z.string().optional().describe("The ETag that the range refers to."),
  "if-none-match": z.string().optional().describe("ETags that the client has; 304 if one matches."),
});

export const artifactSchema = z
  .object({
    name: z.string(),
    size: byteCount.describe("Bytes."),
    sha256: z.string().describe("Of the content, in hexadecimal."),
    contentType: z.string(),
  })
  .meta({ id: "Artifact", description: "A file that a run wrote." });
export type Artifact = z.output<typeof artifactSchema>;

export const artifactListSchema = z.object({ artifacts: z.array(artifactSchema) });

const processId = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/, "A process id is a positive integer in digits.")
  .transform(Number)
  .describe("Process id.");
export const artifactsParamsSchema = z.object({ id: processId });
export const artifactParamsSchema = z.object({
  id: processId,
  "*": z.string().describe("The name of the file, percent-encoded."),
});

export interface NamedContent {
  name: string;
  digest: Digest;
  size: number;
  contentType: string;
}

export interface StoredUpload {
  digest: Digest;
  name: string | null;
  size: number;
  contentType: string;
  createdAt: Date;
  usedAt: Date;
  position: number;
}

/** Type of uploads that neither declare one nor have a recognized file extension. */
export const UNKNOWN_TYPE = contentTypeOf("");
const NO_TYPE = /^application\/(?:octet-stream|x-www-form-urlencoded)\b/i;

/** Returns the type declared by the upload, or the one its name implies. */
export function typeOfUpload(said: string | undefined, name: string | undefined): string {
  return said === undefined || said === "" || NO_TYPE.test(said) ? contentTypeOf(name ?? "") : said;
}
