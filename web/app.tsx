/** The frame: sign-in, navigation, and the view that the address names. Views are loaded when they are first shown. */
import { lazy, Suspense } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import { Route, Router, Switch, useLocation } from "wouter-preact";
import { useHashLocation } from "wouter-preact/use-hash-location";
import { Navigation } from "./navigation.tsx";
import { Loading } from "./parts/basics.tsx";
import { ErrorBoundary } from "./parts/error-boundary.tsx";
import { Toasts } from "./parts/toasts.tsx";
import RunView from "./runs/run-view.tsx";
import { returns, waitForServer } from "./server/connection.ts";
import { isSignedIn, key } from "./session/access.ts";
import { SignIn } from "./session/sign-in.tsx";

/** A view that could not be loaded because the server was away is loaded when it is back. */
function view<C>(load: () => Promise<{ default: C }>) {
  const loadPatiently = async (): Promise<{ default: C }> => {
    try {
      return await load();
    } catch (error) {
      const before = returns.peek();
      await waitForServer();
      if (returns.peek() === before) throw error;
      return loadPatiently();
    }
  };
  return lazy(loadPatiently);
}

const ProcessesView = view(() => import("./processes/processes-view.tsx"));
const ProcessView = view(() => import("./processes/process-view.tsx"));
const CompareView = view(() => import("./processes/compare-view.tsx"));
const ServicesView = view(() => import("./services/services-view.tsx"));
const InstallView = view(() => import("./services/install-view.tsx"));
const ServiceView = view(() => import("./services/service-view.tsx"));
const ToolView = view(() => import("./services/tool-view.tsx"));
const ApprovalsView = view(() => import("./approvals/approvals-view.tsx"));
const PoliciesView = view(() => import("./governance/policies-view.tsx"));
const RolesView = view(() => import("./governance/roles-view.tsx"));
const KeysView = view(() => import("./governance/keys-view.tsx"));
const AuditView = view(() => import("./governance/audit-view.tsx"));
const LogsView = view(() => import("./operations/logs-view.tsx"));
const ModulesView = view(() => import("./modules/modules-view.tsx"));
const ModuleView = view(() => import("./modules/module-view.tsx"));
const SystemView = view(() => import("./operations/system-view.tsx"));

export function App() {
  if (!isSignedIn.value) return <SignIn />;
  return (
    // Another key sees another server: nothing of the last one stays.
    <Router hook={useHashLocation} key={key.value ?? ""}>
      <button type="button" class="skip" onClick={() => document.getElementById("content")?.focus()}>
        Skip to the content
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
    // The first view keeps the focus where the browser has it.
    if (!isFirst.current) element.current?.focus({ preventScroll: true });
    if (!isFirst.current) window.scrollTo(0, 0);
    isFirst.current = false;
  }, [location]);
  return (
    <main class="page" id="content" tabIndex={-1} ref={element}>
      <ErrorBoundary key={location}>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/processes" component={ProcessesView} />
            <Route path="/processes/compare/:one/:other">
              {({ one, other }) => <CompareView one={Number(one)} other={Number(other)} />}
            </Route>
            <Route path="/processes/:id">{({ id }) => <ProcessView key={id} id={Number(id)} />}</Route>
            <Route path="/services" component={ServicesView} />
            <Route path="/services/new" component={InstallView} />
            <Route path="/services/:id/tools/:toolId">
              {({ id, toolId }) => <ToolView key={`${id}.${toolId}`} serviceId={id} toolId={toolId} />}
            </Route>
            <Route path="/services/:id/:tab?">
              {({ id, tab }) => <ServiceView key={id} id={id} tab={tab ?? "tools"} />}
            </Route>
            <Route path="/approvals" component={ApprovalsView} />
            <Route path="/policies" component={PoliciesView} />
            <Route path="/roles" component={RolesView} />
            <Route path="/keys" component={KeysView} />
            <Route path="/audit" component={AuditView} />
            <Route path="/logs" component={LogsView} />
            <Route path="/modules" component={ModulesView} />
            <Route path="/modules/:id">{({ id }) => <ModuleView key={id} id={id} />}</Route>
            <Route path="/system" component={SystemView} />
            <Route component={RunView} />
          </Switch>
        </Suspense>
      </ErrorBoundary>
    </main>
  );
}
