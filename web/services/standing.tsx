/** Whether a service can be called, and if not, why and what to do. */
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

/** Nothing for a service all of whose definition was read. */
export function ServiceProblems({ service: { problems } }: { service: Service }) {
  if (problems.length === 0) return null;
  return (
    <Notice look="wait" icon="info">
      <p>Left out of its definition:</p>
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

/** Nothing for a service that works. */
export function ServiceStanding({ service }: { service: Service }) {
  const { error, stale, enabled, effectivelyEnabled, adapter } = service;
  if (error !== null) {
    return (
      <Notice look="bad" role="alert" icon="circle-alert">
        <p>
          <Plain text={error} />
        </p>
        <p class="details small">
          It is enabled but could not be started. Correct its settings or secrets, or disable and enable it to
          try again.
        </p>
      </Notice>
    );
  }
  if (enabled && effectivelyEnabled && !stale) return null;
  return (
    <Notice look="wait" icon="info">
      {stale
        ? `Stale: its adapter ${adapter} has changed since its tools were made. Make them again from the stored definition (Definition, Sync) before it can be enabled.`
        : enabled
          ? `Its adapter ${adapter} is not active. Enable it, and the service works again.`
          : "Disabled: its tools cannot be found or called. Fill in settings and secrets, then enable it."}{" "}
      {enabled && !stale ? <a href={`#/modules/${adapter}`}>To the adapter</a> : null}
    </Notice>
  );
}
