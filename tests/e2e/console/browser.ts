/** The system's Chromium, with an empty profile and nothing that reaches outside; and what its console says. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Null where there is none. */
export const chromiumPath = PLACES.find((place) => existsSync(place)) ?? null;

export interface ConsoleBrowser extends AsyncDisposable {
  browser: Browser;
  /** A page of a fresh context; what its console and its scripts complain about is collected. */
  open(options?: Parameters<Browser["newContext"]>[0]): Promise<OpenPage>;
}

export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** Errors and warnings of the console, uncaught errors, requests to anywhere else. */
  complaints: string[];
}

const ACTION_TIMEOUT_MS = 30_000;

/** `origin`: what pages may ask anything of. */
export async function launchBrowser(origin: string): Promise<ConsoleBrowser> {
  if (chromiumPath === null) throw new Error(`There is no Chromium at ${PLACES.join(", ")}.`);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: FLAGS });
  return {
    browser,
    async open(options) {
      const context = await browser.newContext({ reducedMotion: "reduce", ...options });
      context.setDefaultTimeout(ACTION_TIMEOUT_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(`uncaught ${error.message}`));
      page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) complaints.push(`asked ${url}`);
      });
      return { page, context, complaints };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}
