/** The mark and the name. */
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
