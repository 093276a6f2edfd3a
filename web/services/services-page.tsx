import { useState } from "preact/hooks";
import { Loaded } from "../parts/failure.tsx";
import { SelectField, TextField, useFields } from "../parts/fields.tsx";
import { Icon } from "../parts/icons.tsx";
import { Named, Plain } from "../parts/json-tree.tsx";
import { Empty, List, PageHead, Row } from "../parts/layout.tsx";
import { useGet } from "../server/api.ts";
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
  const { values, field } = useFields({ query: "", filter: "" });
  const [failure, setFailure] = useState<unknown>(null);
  const [name, value] = values.filter.split(":");
  const query = {
    limit: "200",
    ...(values.query !== "" && { query: values.query }),
    ...(name !== "" && { [name as "enabled"]: value as "true" }),
  };
  const services = useGet("/services", { params: { query } }, REFRESH_MS);
  const isFiltered = values.query !== "" || values.filter !== "";
  return (
    <>
      <PageHead
        title="Services"
        about="HTTP APIs, MCP servers and GraphQL endpoints whose operations scripts can call as tools."
      >
        <DemoButton onFailure={setFailure} />
        <a class="button primary" href="#/services/new">
          <Icon name="plus" /> Install service
        </a>
      </PageHead>
      <search class="filters">
        <TextField label="Search" type="search" {...field("query")} placeholder="Name or keywords" />
        <SelectField label="Show" options={FILTERS} {...field("filter")} />
      </search>
      <Loaded resource={services} error={failure}>
        {(data) => (
          <List items={data.services} empty={<NoService isFiltered={isFiltered} />}>
            {(service) => (
              <Row
                key={service.id}
                side={
                  <>
                    <span>{service.adapter}</span>
                    <ServiceChip service={service} />
                  </>
                }
              >
                <a href={`#/services/${service.id}`}>
                  <Named name={service.name} id={service.id} />
                </a>
                <p class="clamp">
                  <Plain text={service.description} />
                </p>
              </Row>
            )}
          </List>
        )}
      </Loaded>
    </>
  );
}

function NoService({ isFiltered }: { isFiltered: boolean }) {
  const text = isFiltered
    ? "No matches for these filters."
    : "Install one from an OpenAPI document, an MCP server or a GraphQL endpoint, or try the demo.";
  return <Empty icon="shapes" title="No services yet" text={text} />;
}
