/** Console entry and frame: sign-in, navigation, and the page for the current address. */
import { render } from "preact";
import { Suspense } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import { Route, Router, Switch, useLocation } from "wouter-preact";
import { useHashLocation } from "wouter-preact/use-hash-location";
import { Navigation } from "./navigation.tsx";
import { PAGES } from "./pages.tsx";
import { Toasts } from "./parts/action.tsx";
import { ErrorBoundary, Loading } from "./parts/failure.tsx";
import { isSignedIn, key } from "./server/access.ts";
import { watchApprovals } from "./server/waiting-approvals.ts";
import { SignIn } from "./session/sign-in.tsx";

function App() {
  if (!isSignedIn.value) return <SignIn />;
  return (
    // Another key sees other data: remounting drops everything from the last one.
    <Router hook={useHashLocation} key={key.value ?? ""}>
      <button type="button" class="skip" onClick={() => document.getElementById("content")?.focus()}>
        Skip to content
      </button>
      <div class="shell">
        <Navigation />
        <Content />
      </div>
      <Toasts />
    </Router>
  );
}

function Content() {
  const [location] = useLocation();
  const element = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // The first page leaves the focus where the browser put it.
    if (!isFirst.current) element.current?.focus({ preventScroll: true });
    if (!isFirst.current) window.scrollTo(0, 0);
    isFirst.current = false;
  }, [location]);
  return (
    <main class="page" id="content" tabIndex={-1} ref={element}>
      {/* The key gives each address its own state. */}
      <ErrorBoundary key={location}>
        <Suspense fallback={<Loading />}>
          <Switch>
            {PAGES.map(({ path, View }) => (
              <Route key={path} path={path}>
                {(params) => <View {...params} />}
              </Route>
            ))}
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </main>
  );
}

const parent = document.getElementById("console");
if (parent === null) throw new Error("The page has no #app element for the console.");
watchApprovals();
render(<App />, parent);
