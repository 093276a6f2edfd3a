/** Entry of the console. */
import "./styles/index.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { watchApprovals } from "./server/waiting-approvals.ts";

const parent = document.getElementById("console");
if (parent === null) throw new Error("The page has no element for the console.");
watchApprovals();
render(<App />, parent);
