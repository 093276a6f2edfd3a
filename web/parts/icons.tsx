/** Icons and the product logo. Icon paths are from Lucide (ISC; some from Feather, MIT: web/icons-license.md). */
import paths from "./icons.json" with { type: "json" };

/** Named as in Lucide; paths are for a 24 by 24 view box. */
export type IconName = keyof typeof paths;

interface IconProps {
  name: IconName;
  /** In pixels. Default: the size from the surrounding style. */
  size?: number;
  color?: string;
  /** Text for screen readers. Without it, the icon is decorative. */
  label?: string;
}

export function Icon({ name, size = 24, color = "currentColor", label }: IconProps) {
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: hidden, or named by its label
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke={color}
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
    >
      <path d={paths[name]} />
    </svg>
  );
}

export function Brand() {
  return (
    <a class="brand" href="#/run">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#0f766e" />
        <path
          d="M21.5 11.2a7.2 7.2 0 1 0 0 9.6"
          fill="none"
          stroke="#fff"
          stroke-width="3"
          stroke-linecap="round"
        />
        <circle cx="16" cy="16" r="2.4" fill="#fff" />
      </svg>
      Cyrnel
    </a>
  );
}
