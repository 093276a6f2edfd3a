/** The system's Chromium, with an empty profile and no requests outside; and what its console reports. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
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

/** Signs in on the page that a server hands out, and waits for the editor. */
export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".cm-content").waitFor();
}

export interface OpenPage {
  page: Page;
  context: BrowserContext;
  /** Errors and warnings of the console, uncaught errors, requests to anywhere else. */
  complaints: string[];
  /** Leaves out complaints that what was tried brings with it: the browser notes each answer that is an error. */
  forgive(expected: RegExp): Promise<void>;
  /** How much what stood there has moved by itself since the last question, as browsers count it (layout shift). */
  readShift(): Promise<number>;
  /** Accessibility violations found by axe, one line each. */
  audit(): Promise<string[]>;
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
      await page.addInitScript(observeShifts);
      await page.addInitScript(reportViolations);
      const complaints: string[] = [];
      page.on("console", (message) => {
        const isComplaint = message.type() === "error" || message.type() === "warning";
        // Those are told by reportViolations, which knows where they are.
        const isStyle = message.text().startsWith("Applying inline style violates");
        if (isComplaint && !isStyle) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(`uncaught ${error.message}`));
      page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) complaints.push(`asked ${url}`);
      });
      const readShift = () => page.evaluate(() => (globalThis as unknown as ShiftCount).takeShift());
      const forgive = async (expected: RegExp) => {
        // The page may show what is wrong before the browser says it.
        const isThere = () => complaints.some((text) => expected.test(text));
        await expect.poll(isThere, { message: `the browser complained of ${expected}` }).toBe(true);
        complaints.push(...complaints.splice(0).filter((text) => !expected.test(text)));
      };
      return { page, context, complaints, forgive, readShift, audit: () => audit(page) };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function audit(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: injected above
    const { violations } = await (globalThis as any).axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(
      (violation: { id: string; nodes: { target: unknown; failureSummary: string }[] }) =>
        violation.nodes.map((node) => `${violation.id}: ${node.target} ${node.failureSummary}`),
    );
  });
}

/**
 * Runs in the page, before its own scripts. Typing over a selection in the editor, Chromium itself gives the line the style of the
 * text before, which the policy refuses and the editor takes away: nothing of that is the page's.
 */
function reportViolations(): void {
  document.addEventListener("securitypolicyviolation", ({ target, effectiveDirective }) => {
    const element = target as Element;
    if (effectiveDirective.startsWith("style-src") && element.closest?.(".cm-content")) return;
    console.error(`${effectiveDirective} violated by ${element.outerHTML ?? element.nodeName}`);
  });
}

interface ShiftCount {
  takeShift(): number;
}

/** Runs in the page, before its own scripts. */
function observeShifts(): void {
  let sum = 0;
  const count = (entries: PerformanceEntryList) => {
    for (const entry of entries as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
      if (!entry.hadRecentInput) sum += entry.value;
    }
  };
  const observer = new PerformanceObserver((list) => count(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  (globalThis as unknown as ShiftCount).takeShift = () => {
    count(observer.takeRecords());
    const taken = sum;
    sum = 0;
    return taken;
  };
}
