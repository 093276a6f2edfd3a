/** One installed package: how to import it, its dependencies, and its metadata. */
import { navigate } from "wouter-preact/use-hash-location";
import { tell, useAction } from "../parts/action.tsx";
import { ConfirmButton, CopyButton } from "../parts/controls.tsx";
import { Failure, Loaded, Settled } from "../parts/failure.tsx";
import { count, formatBytes, formatTime } from "../parts/format.tsx";
import { Plain } from "../parts/json-tree.tsx";
import { Card, Facts, List, Notice, PageHead, Row, Table } from "../parts/layout.tsx";
import { type PackageDetails, remove, useGet } from "../server/api.ts";

export default function PackagePage({ name, version }: { name: string; version: string }) {
  const params = { path: { name, version } };
  const found = useGet("/packages/{name}/{version}", { params });
  const removing = useAction();
  const forget = () =>
    removing.run(async () => {
      await remove("/packages/{name}/{version}", { params });
      tell(`${name} ${version} is removed.`);
      navigate("/packages");
    });
  return (
    <Loaded resource={found}>
      {(one) => (
        <>
          <PageHead
            title={
              <>
                {one.name} <span class="muted">{one.version}</span>
              </>
            }
            about={<Plain text={one.description} />}
            back={{ href: "#/packages", label: "Packages" }}
          >
            {one.source === "starter" ? <span class="chip">bundled</span> : null}
            <ConfirmButton
              label="Remove"
              question={`Scripts can no longer import ${name} ${version}. Runs that already use it keep it.`}
              onConfirm={forget}
            />
          </PageHead>
          <Settled>
            <Failure error={removing.error} />
            <Advisories of={one} />
            <Card>
              <Facts
                facts={{
                  License: one.license ?? "not stated",
                  Code: formatBytes(one.sizes.code),
                  Types: formatBytes(one.sizes.types),
                  Unpacked: `${formatBytes(one.sizes.unpacked)} in ${count(one.sizes.files, "file")}`,
                  Installed: `${formatTime(one.installedAt)} by ${one.installedBy}`,
                  "Node built-ins": one.builtins.join(", ") || "none",
                  ...(one.missing.length > 0 && { "Unavailable modules": one.missing.join(", ") }),
                  ...(one.leftOut.length > 0 && {
                    "Left out": one.leftOut.map((left) => `${left.name} (${left.reason})`).join(", "),
                  }),
                  Digest: (
                    <>
                      <code>{one.digest.slice(0, 16)}…</code>{" "}
                      <CopyButton text={one.digest} label="Copy digest" />
                    </>
                  ),
                }}
              />
            </Card>
            <List title="Imports" items={one.exports} empty={null}>
              {(path) => (
                <Row key={path} side={null}>
                  <code>{`import … from "${one.name}${path.slice(1)}"`}</code>
                </Row>
              )}
            </List>
            <Card title={`Contains ${count(one.tree.length, "package")}`} flush>
              <Table
                columns={["Package", "License", "Published", "Size", "Integrity", "Notes"]}
                rows={one.tree.map((member) => [
                  `${member.name}@${member.version}`,
                  member.license ?? "–",
                  formatTime(member.publishedAt),
                  formatBytes(member.bytes),
                  <Integrity key={member.path} of={member} />,
                  describeMember(member),
                ])}
              />
            </Card>
          </Settled>
        </>
      )}
    </Loaded>
  );
}

/** Shows the hash that the package's tarball was checked against. */
function Integrity({ of: { name, integrity } }: { of: PackageDetails["tree"][number] }) {
  return (
    <>
      <code>{integrity.slice(0, 15)}…</code>{" "}
      <CopyButton text={integrity} label={`Copy integrity of ${name}`} />
    </>
  );
}

function describeMember({ installScripts, deprecated }: PackageDetails["tree"][number]): string {
  return [
    ...(installScripts ? ["install scripts skipped"] : []),
    ...(deprecated === undefined ? [] : [`deprecated: ${deprecated}`]),
  ].join("; ");
}

function Advisories({ of: { advisories } }: { of: PackageDetails }) {
  if (advisories === null) {
    return <Notice look="wait">Known vulnerabilities were not checked during installation.</Notice>;
  }
  if (advisories.length === 0) return null;
  return (
    <Notice look="wait" icon="triangle-alert">
      <p>Vulnerabilities known at installation:</p>
      <ul>
        {advisories.map((one, index) => (
          <li key={index}>
            {one.name} ({one.severity}): <Plain text={one.title} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}
