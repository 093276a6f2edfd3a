/** The installed services. */

import { useState } from "preact/hooks";
import { unwrap } from "#client/errors.ts";
import { Card, Empty, Loading, PageHead } from "../parts/basics.tsx";
import { Failure } from "../parts/failure.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Plus, Shapes } from "../parts/icons.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { client } from "../server/api.ts";
import { useResource } from "../server/use-resource.ts";
import { DemoButton } from "./demo.tsx";
import { ServiceChip } from "./standing.tsx";

const REFRESH_MS = 5000;
const FILTERS = [
  ["", "All"],
  ["enabled:true", "Enabled"],
  ["enabled:false", "Disabled"],
  ["stale:true", "Stale"],
] as const;

export default function ServicesPage() {
  const [query, setQuery] = useState("");
  const [filter, setFilter] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const { data, error, reload } = useResource(
    async (signal) => {
      const [name, value] = filter.split(":");
      const params = {
        query: {
          limit: "200",
          ...(query.trim() !== "" && { query: query.trim() }),
          ...(name !== "" && { [name as "enabled"]: value as "true" }),
        },
      };
      return unwrap(await client.value.GET("/services", { params, signal }));
    },
    [query, filter],
    REFRESH_MS,
  );
  return (
    <>
      <PageHead
        title="Services"
        about="What scripts may call: HTTP APIs, MCP servers and GraphQL endpoints, as tools."
      >
        <DemoButton onFailure={setFailure} />
        <a class="button primary" href="#/services/new">
          <Plus /> Install a service
        </a>
      </PageHead>
      <search class="filters">
        <TextField
          label="Search"
          type="search"
          value={query}
          onInput={setQuery}
          placeholder="name or words"
        />
        <SelectField label="Show" value={filter} options={FILTERS} onChange={setFilter} />
      </search>
      <Failure error={failure ?? error} retry={reload} />
      {data === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <Card flush>
          {data.services.length === 0 ? (
            <Empty icon={Shapes} title="No service">
              <p>
                {query === "" && filter === ""
                  ? "Install one from an OpenAPI document, an MCP server or a GraphQL endpoint. The demo needs nothing from outside."
                  : "None that fits these filters."}
              </p>
            </Empty>
          ) : (
            <ul class="list">
              {data.services.map((service) => (
                <li key={service.id} class="list-row">
                  <div class="list-main">
                    <a href={`#/services/${service.id}`}>
                      <Plain text={service.name} /> <span class="muted mono">{service.id}</span>
                    </a>
                    <p class="clamp">
                      <Plain text={service.description} />
                    </p>
                  </div>
                  <div class="list-side">
                    <span>{service.adapter}</span>
                    <ServiceChip service={service} />
                  </div>
                </li>
              ))}
            </ul>
          )}
        </Card>
      )}
    </>
  );
}
