/** A card with Markdown documentation. The Markdown parser is loaded with it. */
import { lazy, Suspense } from "preact/compat";
import type { Resource } from "../server/api.ts";
import { Loaded, Loading } from "./failure.tsx";
import { Card } from "./layout.tsx";

const Markdown = lazy(() => import("./markdown.tsx"));

export function MarkdownCard({ title, text }: { title: string; text: Resource<unknown> }) {
  return (
    <Card title={title}>
      <Loaded resource={text}>
        {(data) => (
          <Suspense fallback={<Loading />}>
            <Markdown text={String(data)} />
          </Suspense>
        )}
      </Loaded>
    </Card>
  );
}
