/** Shows whether a service can be called and, if not, why and what to do. */
import { Plain } from "../parts/json-tree.tsx";
import { Notice } from "../parts/layout.tsx";
import type { Service } from "../server/api.ts";

export function ServiceChip({ service }: { service: Service }) {
  if (service.error !== null) return <span class="chip bad">error</span>;
  if (service.stale) return <span class="chip wait">stale</span>;
  if (!service.enabled) return <span class="chip">disabled</span>;
  if (!service.effectivelyEnabled) return <span class="chip wait">adapter off</span>;
  return <span class="chip good">enabled</span>;
}

/** Renders nothing if the complete definition was read. */
export function ServiceProblems({ service: { problems } }: { service: Service }) {
  if (problems.length === 0) return null;
  return (
    <Notice look="wait" icon="info">
      <p>Skipped in its definition:</p>
      <ul class="small">
        {problems.map((problem) => (
          <li key={problem}>
            <Plain text={problem} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Renders nothing for a working service. */
export function ServiceStanding({ service }: { service: Service }) {
  const { error, stale, enabled, effectivelyEnabled, adapter } = service;
  if (error !== null) {
    return (
      <Notice look="bad" role="alert" icon="circle-alert">
        <p>
          <Plain text={error} />
        </p>
        <p class="details small">
          Enabled, but it could not start. Correct its settings or secrets, or disable and enable it to retry.
        </p>
      </Notice>
    );
  }
  if (enabled && effectivelyEnabled && !stale) return null;
  return (
    <Notice look="wait" icon="info">
      {stale
        ? `Stale: the adapter ${adapter} has changed since the tools were generated. Press Sync under Definition to regenerate them, then enable the service.`
        : enabled
          ? `The adapter ${adapter} is disabled. Enable it to use this service.`
          : "Disabled: scripts cannot find or call its tools. Fill in settings and secrets, then enable it."}{" "}
      {enabled && !stale ? <a href={`#/modules/${adapter}`}>Open adapter</a> : null}
    </Notice>
  );
}
