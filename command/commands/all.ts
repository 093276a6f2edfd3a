/** Every command, in the order of the help. */
import type { AddCommands } from "../program.ts";
import { addApprovals } from "./approvals.ts";
import { addAudit } from "./audit.ts";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor.ts";
import { addKeys } from "./keys.ts";
import { addModules } from "./modules.ts";
import { addPolicies } from "./policies.ts";
import { addProcesses } from "./processes.ts";
import { addPrograms } from "./programs.ts";
import { addRoles } from "./roles.ts";
import { addRun } from "./run.ts";
import { addServices } from "./services.ts";
import { addTools } from "./tools.ts";

export const addAll: AddCommands = (program, shell) => {
  addRun(program, shell);
  addProcesses(program, shell);
  addServices(program, shell);
  addTools(program, shell);
  addApprovals(program, shell);
  addPolicies(program, shell);
  addRoles(program, shell);
  addKeys(program, shell);
  addModules(program, shell);
  addAudit(program, shell);
  addPrograms(program, shell);
  addDoctor(program, shell);
  addCompletion(program, shell);
};
