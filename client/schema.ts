// The types of the HTTP API. Generated from docs/openapi.json; written by: npm run check -- --write

export interface paths {
    "/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List approvals, newest first
         * @description Lists approvals of calls and questions, without their parameters. A role that hides the tool hides its approvals.
         */
        get: operations["listApprovals"];
    };
    "/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an approval
         * @description Includes the parameters of the call, secrets redacted, or the schema of the answer to a question.
         */
        get: operations["getApproval"];
    };
    "/approvals/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Approve a call, or answer a question
         * @description The run resumes. Neither the key that submitted the process nor the one that started the run may decide.
         */
        post: operations["approveApproval"];
    };
    "/approvals/{id}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deny a call or a question
         * @description The run resumes with an error that carries the `reason` and that the script may catch.
         */
        post: operations["denyApproval"];
    };
    "/approvals/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream approvals as they are requested and decided
         * @description Server-sent events: `approval` with the approval as in the list; `reset` when some were missed and the list should be read again. `Last-Event-ID` resumes.
         */
        get: operations["streamApprovals"];
    };
    "/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit records, newest first
         * @description Filters can be combined.
         */
        get: operations["listAuditRecords"];
    };
    "/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the audit trail as JSON lines, oldest first
         * @description Streams every record that matches the filter, one per line.
         */
        get: operations["exportAuditRecords"];
    };
    "/environment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the active environment
         * @description Returns its capacity, the isolation it obtained, and environments that are draining.
         */
        get: operations["getEnvironment"];
    };
    "/environment/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how to write scripts
         * @description Markdown for people and agents: globals, tools, packages, limits, errors, an example.
         */
        get: operations["getEnvironmentDocs"];
    };
    "/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List uploaded files, newest first
         * @description Lists the files that this key uploaded and that have not expired.
         */
        get: operations["listFiles"];
        /**
         * Upload a file
         * @description The body is the file with its Content-Type, or a form with one file. Uploading the same content again with the same key returns the same file and extends its expiry.
         */
        post: operations["uploadFile"];
    };
    "/files/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the metadata of a file
         * @description Returns name, size, type, digest and expiry; the content is at `GET /files/{id}/content`.
         */
        get: operations["getFile"];
        /**
         * Delete a file
         * @description Processes that were given the file keep its content.
         */
        delete: operations["deleteFile"];
    };
    "/files/{id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file
         * @description Returns the content as a download. `Range` and `If-None-Match` are supported.
         */
        get: operations["downloadFile"];
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server answers
         * @description Answers 200 as long as the server accepts connections. Needs no key.
         */
        get: operations["getHealth"];
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server is alive
         * @description For liveness probes: says nothing about the database or the environment. Needs no key.
         */
        get: operations["getLiveness"];
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server accepts work
         * @description For readiness probes: 503 lists what is missing, such as the database, or that the server is draining. Needs no key.
         */
        get: operations["getReadiness"];
    };
    "/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys, newest first
         * @description Revoked keys are not listed. A key itself is never shown again.
         */
        get: operations["listKeys"];
        /**
         * Create an API key
         * @description The key is in this response only; the server stores its hash.
         */
        post: operations["createKey"];
    };
    "/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Revoke an API key
         * @description Takes effect at once: requests with the key get 401, its open streams end, and scripts it submitted can no longer see or call tools.
         */
        delete: operations["revokeKey"];
    };
    "/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List recent log records, newest first
         * @description Returns the records in this replica's memory: some thousand, lost when it stops. The whole log is on its standard output.
         */
        get: operations["listLogs"];
    };
    "/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream log records
         * @description Server-sent events: `log` with a record; `reset` when some were missed. `Last-Event-ID` resumes after the record with that `id`.
         */
        get: operations["streamLogs"];
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the server's metrics
         * @description The metrics of this replica in the text format of Prometheus. Works without a database.
         */
        get: operations["getMetrics"];
    };
    "/modules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List modules, newest first
         * @description Modules are environments, which run scripts, and adapters, which make services of definitions.
         */
        get: operations["listModules"];
        /**
         * Install a module from a package
         * @description The package is a `.tar.zst` with `module.json` at its top or in its only folder. None of its code runs: the module starts disabled.
         */
        post: operations["installModule"];
    };
    "/modules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a module
         * @description Also reports how the module is on other replicas, where that differs.
         */
        get: operations["getModule"];
        /**
         * Delete a module
         * @description Modules that come with the server can be disabled, but not deleted.
         */
        delete: operations["deleteModule"];
        /**
         * Replace a module with another package
         * @description The tools of an adapter's services are regenerated. If the new version does not start, the previous one stays and the response is 502.
         */
        patch: operations["replaceModule"];
    };
    "/modules/{id}/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the configuration of a module
         * @description Returns what was set; defaults are in the schema. Send the `ETag` as `If-Match` of a change.
         */
        get: operations["getModuleConfig"];
        /**
         * Change the configuration of a module by JSON Patch
         * @description The result must match the schema. An enabled module is restarted with it; if that fails nothing changes and the response is 502.
         */
        patch: operations["patchModuleConfig"];
    };
    "/modules/{id}/config/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the JSON Schema of a module's configuration
         * @description Includes the defaults of unset values.
         */
        get: operations["getModuleConfigSchema"];
    };
    "/modules/{id}/enabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Enable or disable a module
         * @description Enabling an environment starts it first; only then the previous one takes no more runs and drains. If it cannot start, the previous one stays and the response is 502.
         */
        post: operations["setModuleEnabled"];
    };
    "/modules/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List which secrets of a module are set
         * @description Returns JSON pointers; values are never returned.
         */
        get: operations["getModuleSecrets"];
        /**
         * Change the secrets of a module by JSON Patch
         * @description Works like a change of the configuration, except that values are never returned, required secrets may be missing while the module is disabled, and `test`, `copy` and `move` are refused.
         */
        patch: operations["patchModuleSecrets"];
    };
    "/modules/{id}/secrets/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the JSON Schema of a module's secrets
         * @description Says which secrets can be set, and which are required.
         */
        get: operations["getModuleSecretsSchema"];
    };
    "/modules/{id}/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Update a module from its registry
         * @description Reads the descriptor at the module's `source` again, and replaces the module if it names another package.
         */
        post: operations["updateModule"];
    };
    "/modules/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Install a module from a registry
         * @description `source` is the URL of a descriptor, `{downloadUrl, hash?, id?}`. It is stored, for updates.
         */
        post: operations["installModuleFromRegistry"];
    };
    "/modules/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reload the modules folder
         * @description New modules appear disabled, removed ones are `missing`, enabled ones whose files changed are restarted. If one does not start, its previous version keeps running.
         */
        post: operations["reloadModules"];
    };
    "/package-installations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List package installations, newest first
         * @description Lists running, finished and failed installations.
         */
        get: operations["listPackageInstallations"];
    };
    "/package-installations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the progress of a package installation
         * @description Poll this until `state` is no longer `running`.
         */
        get: operations["getPackageInstallation"];
    };
    "/packages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List installed npm packages, by name
         * @description Lists only packages that the role of this key may import.
         */
        get: operations["listPackages"];
        /**
         * Install an npm package for scripts
         * @description Returns an installation at once: poll `GET /package-installations/{id}`. No script of any package is executed. A package that is installed, or being installed, is returned as it is; with `lock`, only if its tree matches the lock file.
         */
        post: operations["installPackage"];
    };
    "/packages/{name}/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an installed package
         * @description Returns its dependency tree, licences, sizes and known vulnerabilities.
         */
        get: operations["getPackage"];
        /**
         * Delete a package
         * @description Runs that use the package keep it until they end.
         */
        delete: operations["deletePackage"];
    };
    "/packages/{name}/{version}/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the TypeScript declarations of a package
         * @description Returns the declarations by file, dependencies included.
         */
        get: operations["getPackageTypes"];
    };
    "/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List rules in order of evaluation
         * @description The first rule that matches a call decides; `defaultPolicy` decides when none does.
         */
        get: operations["listPolicies"];
        /**
         * Add a rule after all others
         * @description Patterns that match no installed tool are accepted; `hints` names them.
         */
        post: operations["createPolicy"];
    };
    "/policies/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Delete a rule
         * @description Later calls are decided by the next rule that matches, or by the default.
         */
        delete: operations["deletePolicy"];
        /**
         * Change a rule
         * @description The rule keeps its position.
         */
        patch: operations["updatePolicy"];
    };
    "/policies/order": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reorder all rules
         * @description The request must name every rule exactly once.
         */
        put: operations["orderPolicies"];
    };
    "/policies/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview which tools a rule would match
         * @description Returns the installed tools that the patterns match, and the current decision about each.
         */
        get: operations["previewPolicy"];
    };
    "/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List processes, newest first
         * @description Lists the processes this key submitted; all of them with `processes:all`. Filters can be combined.
         */
        get: operations["listProcesses"];
        /**
         * Submit a script and run it
         * @description Stores the script as a process and, unless `autorun` is false, runs it. With `block` the response waits for the end of the run. An `Idempotency-Key` makes a repeated submission return the first process.
         */
        post: operations["createProcess"];
    };
    "/processes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a process, or wait until it is idle or paused
         * @description Returns the state and the results of a process. With `wait` the response is held until the run ends or pauses, or that many milliseconds have passed.
         */
        get: operations["getProcess"];
        /**
         * Delete an idle process
         * @description Deletes the process with its results, call trail and artifacts. A process that is not idle has to be killed first.
         */
        delete: operations["deleteProcess"];
    };
    "/processes/{id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the artifacts of the last run
         * @description Artifacts are the files that the run wrote to its workspace.
         */
        get: operations["listProcessArtifacts"];
    };
    "/processes/{id}/artifacts.tar": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download all artifacts of the last run as a tar archive
         * @description The archive is written while it is sent; its length is not known in advance.
         */
        get: operations["downloadProcessArtifacts"];
    };
    "/processes/{id}/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an artifact of the last run
         * @description Returns the content as a download. `Range` and `If-None-Match` are supported.
         */
        get: operations["downloadProcessArtifact"];
    };
    "/processes/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tool calls of the last run
         * @description Returns the call trail in the order of the calls, parameters redacted.
         */
        get: operations["listProcessCalls"];
    };
    "/processes/{id}/code": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the script of a process
         * @description Returns the script exactly as it was submitted.
         */
        get: operations["getProcessCode"];
    };
    "/processes/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the events of a process until its run ends
         * @description Server-sent events: `state`, `stdout`, `stderr`, `output`, `call`, `approval`, `artifact`, `end`. `Last-Event-ID` resumes; 204 when nothing is missing.
         */
        get: operations["streamProcessEvents"];
    };
    "/processes/{id}/files/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file that the process was given
         * @description Returns the content as a download. `Range` and `If-None-Match` are supported.
         */
        get: operations["downloadProcessFile"];
    };
    "/processes/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the output of the last run
         * @description Returns one object into which all objects that the script passed to `cyrnel.output` are merged.
         */
        get: operations["getProcessOutput"];
    };
    "/processes/{id}/signals/kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Kill a queued, running or paused process
         * @description Ends the run. What it printed until then is kept.
         */
        post: operations["killProcess"];
    };
    "/processes/{id}/signals/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Run an idle process
         * @description Runs the stored script again. With `force` the results of an earlier run are cleared first; without it such a process is refused. An `input` in the body replaces that of the process.
         */
        post: operations["runProcess"];
    };
    "/processes/{id}/stderr": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the stderr of the last run
         * @description Returns the text that the script wrote to stderr, cut at the limit. Follow it live with `GET /processes/{id}/events`.
         */
        get: operations["getProcessStderr"];
    };
    "/processes/{id}/stdout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the stdout of the last run
         * @description Returns the text that the script wrote to stdout, cut at the limit. Follow it live with `GET /processes/{id}/events`.
         */
        get: operations["getProcessStdout"];
    };
    "/processes/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream changes of the list of processes
         * @description Server-sent events: `changed`, without data, at once and after changes, at most four times a second. It does not name the process that changed: read `GET /processes`. A key without `processes:all` gets it every two seconds, whether or not anything changed.
         */
        get: operations["streamProcesses"];
    };
    "/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List replicas, newest first
         * @description Lost replicas are listed for an hour; those that stopped cleanly are not listed.
         */
        get: operations["listReplicas"];
    };
    "/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List roles, newest first
         * @description A role says which tools a key may see and call, and which packages its scripts may import.
         */
        get: operations["listRoles"];
        /**
         * Create a role
         * @description Patterns that match no installed tool are accepted; `hints` names them.
         */
        post: operations["createRole"];
    };
    "/roles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a role
         * @description Returns its patterns of tools and packages.
         */
        get: operations["getRole"];
        /**
         * Delete a role
         * @description A role that a key or a rule names cannot be deleted.
         */
        delete: operations["deleteRole"];
        /**
         * Change a role
         * @description Applies at once, to running scripts as well.
         */
        patch: operations["updateRole"];
    };
    "/services": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List services, newest first
         * @description Lists only services of which the role of this key shows a tool.
         */
        get: operations["listServices"];
        /**
         * Install a service from a definition
         * @description The service starts disabled, its tools enabled. Nothing is stored unless the adapter can generate tools from the definition.
         */
        post: operations["installService"];
    };
    "/services/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a service
         * @description Includes the JSON Schemas of its configuration and its secrets.
         */
        get: operations["getService"];
        /**
         * Delete a service
         * @description Deletes its tools, configuration and secrets too.
         */
        delete: operations["deleteService"];
        /**
         * Replace the definition of a service
         * @description Tools that remain keep their flags. New tools start enabled, or disabled if the service is enabled. On failure nothing changes.
         */
        patch: operations["replaceService"];
    };
    "/services/{id}/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the configuration of a service
         * @description Returns what was set; defaults are in the schema. Send the `ETag` as `If-Match` of a change.
         */
        get: operations["getServiceConfig"];
        /**
         * Change the configuration of a service by JSON Patch
         * @description The result must match the schema; required settings may be missing while the service is disabled. An enabled service is handed to its adapter again: if that fails, nothing changes and the response is 502. It is 409 if the change would send secrets to another origin than they were set for.
         */
        patch: operations["patchServiceConfig"];
    };
    "/services/{id}/config/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the JSON Schema of a service's configuration
         * @description Includes the defaults of unset values.
         */
        get: operations["getServiceConfigSchema"];
    };
    "/services/{id}/enabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Enable or disable a service
         * @description Enabling needs configuration and secrets that match their schemas, and an active adapter. If the adapter rejects the service, it stays disabled and the response is 502.
         */
        post: operations["setServiceEnabled"];
    };
    "/services/{id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List which secrets of a service are set
         * @description Returns JSON pointers; values are never returned.
         */
        get: operations["getServiceSecrets"];
        /**
         * Change the secrets of a service by JSON Patch
         * @description Works like a change of the configuration, except that values are never returned and `test`, `copy` and `move` are refused. Each secret is bound to the origin that the service sends it to now: after that changes, set or remove all `outdated` secrets in one patch.
         */
        patch: operations["patchServiceSecrets"];
    };
    "/services/{id}/secrets/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the JSON Schema of a service's secrets
         * @description Says which secrets can be set, and which are required.
         */
        get: operations["getServiceSecretsSchema"];
    };
    "/services/{id}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Regenerate the tools of a service
         * @description Generates the tools from the stored definition, with the adapter as it is now.
         */
        post: operations["syncService"];
    };
    "/services/{id}/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Update a service from its registry
         * @description Downloads the definition that the service's `source` names now. On failure nothing changes.
         */
        post: operations["updateService"];
    };
    "/services/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Install a service from a registry
         * @description `source` is the URL of a descriptor, `{downloadUrl, hash?, id?, adapter?}`. Fields of the request override it; the download must match `hash`.
         */
        post: operations["installServiceFromRegistry"];
    };
    "/services/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Preview the tools of a definition
         * @description Returns the tools that an installation would create. Nothing is stored.
         */
        post: operations["previewService"];
    };
    "/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List or search tools
         * @description Lists the tools that the caller can see: those of the newest service first, or ranked by `query`.
         */
        get: operations["listTools"];
    };
    "/tools/{serviceId}/{toolId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a tool
         * @description Includes the JSON Schemas of its parameters and its result.
         */
        get: operations["getTool"];
    };
    "/tools/{serviceId}/{toolId}/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the documentation of a tool
         * @description Markdown with a TypeScript signature and an example, written by the active environment.
         */
        get: operations["getToolDocs"];
    };
    "/tools/{serviceId}/{toolId}/enabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Enable or disable a tool
         * @description A disabled tool is listed, but cannot be called.
         */
        post: operations["setToolEnabled"];
    };
    "/tools/{serviceId}/{toolId}/invoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Call a tool once, without a script
         * @description Applies the same checks, limits and records as to a call by a script.
         */
        post: operations["invokeTool"];
    };
    "/tools/types.d.ts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the TypeScript declarations for scripts
         * @description Declares the globals of a script, every tool that the caller can see and call, and the npm packages that scripts may import. `ETag` and `If-None-Match` are supported.
         */
        get: operations["getToolTypes"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A parked call or question. */
        Approval: {
            /** Format: date-time */
            createdAt: string;
            decidedAt: string | null;
            decidedBy: string | null;
            destructive: boolean;
            /** Format: date-time */
            expiresAt: string;
            /** @description Files of the workspace that the parameters name: the approved call sends exactly these. */
            files: {
                contentType: string;
                name: string;
                /** @description Of the content, in hexadecimal. */
                sha256: string;
                /** @description Bytes. */
                size: number;
            }[];
            id: string;
            /**
             * @description A tool call, or a question of the script.
             * @enum {string}
             */
            kind: "call" | "ask";
            /** @description For a person. Of a question: the script's own words. Show them with where they come from, and hidden characters as escapes. */
            message: string;
            /** @description Of a call, with its defaults, secrets replaced; null for a question. */
            parameters: unknown;
            /** @description The rule that made it wait; null for the default, and for a question. */
            policyId: string | null;
            processId: number;
            reason: string | null;
            /** @description Whose process it is: the id of a key, `bootstrap` or `anonymous`. */
            requestedBy: string;
            /** @description What that key is called; null for `bootstrap` and `anonymous`. */
            requestedByName: string | null;
            /** @description JSON Schema of the answer to a question; null where any answer fits, and for a call. */
            schema: unknown;
            serviceId: string | null;
            /** @description Who started the run, likewise. Neither of the two decides about it. */
            startedBy: string;
            /** @enum {string} */
            state: "pending" | "approved" | "denied" | "expired";
            toolId: string | null;
            /** @description When the run went on with it. */
            usedAt: string | null;
        };
        /** @description A parked call or question, without what it is about. */
        ApprovalSummary: {
            /** Format: date-time */
            createdAt: string;
            decidedAt: string | null;
            decidedBy: string | null;
            destructive: boolean;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            /**
             * @description A tool call, or a question of the script.
             * @enum {string}
             */
            kind: "call" | "ask";
            /** @description For a person. Of a question: the script's own words. Show them with where they come from, and hidden characters as escapes. */
            message: string;
            /** @description The rule that made it wait; null for the default, and for a question. */
            policyId: string | null;
            processId: number;
            reason: string | null;
            /** @description Whose process it is: the id of a key, `bootstrap` or `anonymous`. */
            requestedBy: string;
            /** @description What that key is called; null for `bootstrap` and `anonymous`. */
            requestedByName: string | null;
            serviceId: string | null;
            /** @description Who started the run, likewise. Neither of the two decides about it. */
            startedBy: string;
            /** @enum {string} */
            state: "pending" | "approved" | "denied" | "expired";
            toolId: string | null;
            /** @description When the run went on with it. */
            usedAt: string | null;
        };
        /** @description A file that a run wrote. */
        Artifact: {
            contentType: string;
            name: string;
            /** @description Of the content, in hexadecimal. */
            sha256: string;
            /** @description Bytes. */
            size: number;
        };
        /** @description One record of the audit trail. */
        AuditRecord: {
            /** @description The action, such as `process.create`, `policy.change` or `tool.call`. */
            action: string;
            /** @description Who acted: a key (with its id), the bootstrap key, anyone on this machine, or the server itself. */
            actor: {
                id: string | null;
                /** @enum {string} */
                kind: "anonymous" | "bootstrap" | "key" | "system";
                name: string;
            };
            /** Format: date-time */
            at: string;
            /** @description The error code of an outcome that is not `ok`. `call_unknown`: a tool call was sent, and given up before it was answered. */
            code: string | null;
            /** @description Policy decision about a tool call. */
            decision: ("allow" | "ask" | "block") | null;
            /** @description Files that a tool call sent from the workspace of its run or saved there; for `process.artifacts`, at most 50 artifacts. */
            files: {
                name: string;
                /** @description Null if the transfer was incomplete. */
                sha256: string | null;
                /** @description Bytes transferred. */
                size: number;
                /** @enum {string} */
                use: "sent" | "saved" | "left";
            }[];
            /** @description HTTP status that the service of a tool call answered with. */
            httpStatus: number | null;
            id: number;
            object: {
                id: string | null;
                kind: string;
            } | null;
            /**
             * @description `refused` by a rule or as invalid; `failed` with an error; `canceled` for a tool call abandoned before it was sent; `unknown` for one abandoned afterwards, which the service may have carried out. Older records use `failed` for the last two.
             * @enum {string}
             */
            outcome: "ok" | "refused" | "failed" | "canceled" | "unknown";
            /** @description The parameters, redacted and shortened; null without any. */
            parameters: unknown;
            /** @description SHA-256 of the parameters as JSON with sorted keys; secret settings count without their values. */
            parametersSha256: string | null;
            /** @description The rule that decided; null for the default. */
            policyId: string | null;
            /** @description The process whose script made the call, or left the files. */
            processId: number | null;
            requestId: string | null;
        };
        /** @description A rule after a change of it. */
        ChangedPolicy: {
            /** @description Installed tools that its patterns currently match. */
            affected: number;
            /** Format: date-time */
            createdAt: string;
            /** @enum {string} */
            decision: "allow" | "ask" | "block";
            /** @description When the rule expires; null for never. */
            expiresAt: string | null;
            /** @description Possible mistakes: no tool matches, or earlier rules always decide first. */
            hints: string[];
            id: string;
            /** @description Applies only to calls without a role. */
            noRole: boolean;
            /** @description Applies to calls of this process only; null for all. */
            processId: number | null;
            /** @description The remembered approval that made the rule; null for an administrator's rule. */
            remembered: components["schemas"]["RememberedApproval"] | null;
            /** @description Applies to calls under this role only; null for all, but see `noRole`. */
            roleId: string | null;
            servicePattern: string;
            toolPattern: string;
        };
        /** @description A role after a change of it. */
        ChangedRole: {
            /** @description Patterns of tools it may see and call; none if empty. */
            allow: string[];
            /** Format: date-time */
            createdAt: string;
            /** @description Patterns of tools it may not see, even if `allow` matches them. */
            deny: string[];
            /** @description Patterns that match no installed tool, and possible reasons. */
            hints: string[];
            id: string;
            name: string;
            /** @description npm packages that its scripts may import: names, or patterns such as `@scope/*`. */
            packages: string[];
        };
        /** @description The configuration of a module or service. */
        Configuration: {
            /** @description The values set; defaults are in the schema. */
            config: {
                [key: string]: unknown;
            };
            /** @description JSON pointers of values that no longer match the schema. */
            outdated: string[];
        };
        /** @description An API key with the key itself. */
        CreatedKey: {
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            id: string;
            /** @description The key. Shown only once; the server keeps its hash. */
            key: string;
            /** @description Accurate to a minute. */
            lastUsedAt: string | null;
            name: string;
            /** @description How the key begins, to tell keys apart. */
            prefix: string;
            /** @description Tools that it may see and call; null for all. */
            roleId: string | null;
            scopes: components["schemas"]["Scope"][];
        };
        /**
         * @description Why a run ended.
         * @enum {string}
         */
        EndReason: "ok" | "script_error" | "unhandled_rejection" | "syntax_error" | "memory_limit" | "cpu_limit" | "output_limit" | "crashed" | "sandbox_violation" | "approval_denied" | "approval_expired" | "replay_divergence" | "interrupted" | "interrupted_call" | "timeout" | "killed" | "queue_timeout";
        /** @description The environment that runs scripts. */
        Environment: {
            capacity: {
                /** @description Current runs. */
                busy: number;
                /** @description Memory of all run processes together, including idle ones, counting shared memory once; null if unknown. */
                memoryBytes: number | null;
                /** @description Processes that wait for a slot. */
                queued: number;
                /** @description Concurrent runs; null if the environment does not say. */
                slots: number | null;
                /** @description Started ahead and waiting for a run. */
                warm: number;
            };
            /** @description Replaced environments with runs left. */
            draining: {
                id: string;
                runs: number;
            }[];
            environment: {
                id: string;
                name: string;
                version: string | null;
            };
            /** @description Null if the environment does not report it. */
            isolation: components["schemas"]["IsolationReport"] | null;
            /** @description The prepared process from which run processes are forked; null if each run boots its own, or the environment does not say. */
            zygote: {
                /** @description Age of the zygote for the default memory limit. */
                ageMs: number;
                /** @description How many of those hung, ended or failed to fork. */
                failures?: number;
                /** @description Processes forked from it and from zygotes for other memory limits. */
                forks: number;
                /** @description Zygotes replaced since the environment was activated. */
                renewals: number;
            } | null;
        };
        Error: {
            /**
             * @description Machine-readable; docs/errors.md lists all codes.
             * @enum {string}
             */
            code: "invalid_json" | "invalid_request" | "invalid_cursor" | "process_has_outputs" | "builtin_module" | "invalid_package" | "invalid_definition" | "invalid_parameters" | "unauthorized" | "forbidden" | "policy_blocked" | "approval_unavailable" | "approval_denied" | "self_approval" | "not_found" | "not_acceptable" | "process_not_idle" | "process_idle" | "ref_taken" | "name_taken" | "role_in_use" | "policy_order_mismatch" | "already_decided" | "approval_expired" | "limit_reached" | "module_missing" | "module_taken" | "service_taken" | "service_stale" | "adapter_inactive" | "service_disabled" | "secrets_outdated" | "tool_disabled" | "no_source" | "environments_draining" | "precondition_failed" | "body_too_large" | "payload_too_large" | "storage_full" | "unsupported_media_type" | "range_not_satisfiable" | "idempotency_mismatch" | "too_many_processes" | "rate_limited" | "too_many_calls" | "too_many_approvals" | "too_many_streams" | "too_many_uploads" | "too_many_bodies" | "internal_error" | "secrets_key_missing" | "module_failed" | "download_failed" | "egress_refused" | "service_failed" | "tool_failed" | "tool_schema_invalid" | "result_invalid" | "result_too_large" | "invalid_descriptor" | "hash_mismatch" | "no_environment" | "shutting_down" | "server_busy" | "database_unavailable" | "storage_unavailable" | "call_canceled" | "call_unavailable" | "call_timeout" | "audit_unavailable";
            /** @description What was expected, what was found, what to do. */
            error: string;
            /** @description Why the request is invalid, by path (`body.options.timeout`). */
            issues?: {
                message: string;
                path: string;
            }[];
            /** @description Also in the header `x-request-id` and in the server log. */
            requestId: string;
        };
        /** @description An uploaded file. */
        File: {
            contentType: string;
            createdAt: string;
            /** @description Using it again extends this. */
            expiresAt: string;
            /** @description `sha256-` and the SHA-256 of the content in hexadecimal. */
            id: string;
            name?: string;
            /** @description Bytes. */
            size: number;
        };
        /** @description The id of what was installed. */
        Installed: {
            id: string;
            /** @description Parts of a service's definition that were unreadable and left out, and why. */
            problems?: string[];
        };
        /** @description The layers that isolate a run, and how each was verified. */
        IsolationReport: {
            kernel: string;
            layers: {
                /** @description Remedy if it is missing. */
                fix?: string;
                layer: number;
                name: string;
                obtained: boolean;
                required: boolean;
                /** @description Evidence. */
                verified: string;
            }[];
            /**
             * @description The strongest level whose required layers were all obtained.
             * @enum {string}
             */
            level: "strict" | "standard" | "development";
            nodeVersion: string;
            platform: string;
        };
        /** @description JSON Patch (RFC 6902), applied as a whole or not at all. */
        JsonPatch: ({
            /** @constant */
            op: "add";
            path: components["schemas"]["JsonPointer"];
            /** @description Any JSON. */
            value: unknown;
        } | {
            /** @constant */
            op: "replace";
            path: components["schemas"]["JsonPointer"];
            /** @description Any JSON. */
            value: unknown;
        } | {
            /** @constant */
            op: "test";
            path: components["schemas"]["JsonPointer"];
            /** @description Any JSON. */
            value: unknown;
        } | {
            /** @constant */
            op: "remove";
            path: components["schemas"]["JsonPointer"];
        } | {
            from: components["schemas"]["JsonPointer"];
            /** @constant */
            op: "move";
            path: components["schemas"]["JsonPointer"];
        } | {
            from: components["schemas"]["JsonPointer"];
            /** @constant */
            op: "copy";
            path: components["schemas"]["JsonPointer"];
        })[];
        /** @description A JSON Pointer (RFC 6901). */
        JsonPointer: string;
        /** @description An API key, without the key itself. */
        Key: {
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            id: string;
            /** @description Accurate to a minute. */
            lastUsedAt: string | null;
            name: string;
            /** @description How the key begins, to tell keys apart. */
            prefix: string;
            /** @description Tools that it may see and call; null for all. */
            roleId: string | null;
            scopes: components["schemas"]["Scope"][];
        };
        /** @description One record of the server's log, redacted. */
        LogRecord: {
            /** @description Everything else in the record. */
            fields: {
                [key: string]: unknown;
            };
            /** @description Its position in the log; as `Last-Event-ID` the stream resumes after it. */
            id: string;
            /** @enum {string} */
            level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
            message: string;
            processId: number | null;
            requestId: string | null;
            serviceId: string | null;
            /** Format: date-time */
            time: string;
            toolId: string | null;
            /** @description `request`, `run`, `call` and so on; `server` for records about the server itself. */
            type: string;
        };
        /** @description A module. */
        Module: {
            /** Format: date-time */
            createdAt: string;
            description: string;
            /** @description What was asked for; see `state` for what is. */
            enabled: boolean;
            /** @description Why it did not load or could not be activated. */
            error: string | null;
            /** @description SHA-256: of the package, of the files of a folder placed by hand, of the manifest of a built-in. */
            hash: string;
            /** @description Chosen by the module. */
            id: string;
            /** @description Comes with the server; cannot be deleted. */
            isBuiltin: boolean;
            /** @description The module was not found at the last start or reload. Its settings are kept. */
            missing: boolean;
            name: string;
            /** @description Its state on other replicas, if it differs. Only when a single module is read. */
            replicas?: {
                replica: string;
                /** @enum {string} */
                state: "inactive" | "active" | "draining";
            }[];
            /** @description Registry URL; empty without one. */
            source: string;
            /**
             * @description `draining`: replaced, and ending its last runs. It takes no new ones.
             * @enum {string}
             */
            state: "inactive" | "active" | "draining";
            /**
             * @description `environment`: runs scripts. `adapter`: makes services of definitions.
             * @enum {string}
             */
            type: "adapter" | "environment";
            version: string | null;
        };
        /** @description An installed package with its dependency tree. */
        Package: {
            /** @description Null: they were not looked up. */
            advisories: {
                name: string;
                severity: string;
                title: string;
                url: string | null;
                vulnerableVersions: string;
            }[] | null;
            /** @description Modules of Node that it uses and scripts have. */
            builtins: string[];
            description: string;
            /** @description SHA-256 of the code that scripts get. */
            digest: string;
            exports: string[];
            homepage: string | null;
            /** Format: date-time */
            installedAt: string;
            installedBy: string;
            /** @description Optional packages that it does without. */
            leftOut: {
                name: string;
                reason: string;
            }[];
            /** @description As the package says it. */
            license: string | null;
            /** @description Modules of Node that it imports and scripts lack: it fails when it uses them. */
            missing: string[];
            name: string;
            sizes: {
                code: number;
                downloaded: number;
                files: number;
                types: number;
                unpacked: number;
            };
            /**
             * @description `starter`: it came with the server.
             * @enum {string}
             */
            source: "registry" | "starter";
            /** @description The packages it was made of, itself first. */
            tree: {
                /** @description Unpacked. */
                bytes: number;
                /** @description What its publisher says. */
                deprecated?: string;
                files: number;
                /** @description True if it has installation scripts. They were not run. */
                installScripts: boolean;
                /** @description What the tarball was checked against. */
                integrity: string;
                /** @description As the package states it; null if it states none. */
                license: string | null;
                name: string;
                /** @description Its path in npm's layout. */
                path: string;
                publishedAt: string | null;
                version: string;
            }[];
            version: string;
        };
        /** @description An installation of a package. */
        PackageInstallation: {
            completedAt: string | null;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** @description Of `total`, in this step. */
            done: number;
            /** @description Why it failed. */
            error: string | null;
            id: string;
            name: string;
            range: string;
            /** @enum {string} */
            state: "running" | "done" | "failed";
            /**
             * @description Its current or last step.
             * @enum {string}
             */
            step: "waiting" | "resolving" | "checking" | "downloading" | "bundling" | "trying";
            total: number | null;
            /** @description The version installed, now or before. */
            version: string | null;
        };
        /** @description An installed package. */
        PackageSummary: {
            /** @description Known vulnerabilities; null if they were not looked up. */
            advisories: number | null;
            description: string;
            /** @description SHA-256 of the code that scripts get. */
            digest: string;
            /** @description What can be imported of it: `.`, or sub-paths such as `./locale`. */
            exports: string[];
            /** Format: date-time */
            installedAt: string;
            installedBy: string;
            /** @description As the package says it. */
            license: string | null;
            name: string;
            /** @description Packages it was made of, itself included. */
            packages: number;
            /** @description Bytes: of the code that scripts get, of its declarations, of all packages it was made of. */
            sizes: {
                code: number;
                types: number;
                unpacked: number;
            };
            /**
             * @description `starter`: it came with the server.
             * @enum {string}
             */
            source: "registry" | "starter";
            version: string;
        };
        /** @description A rule about tool calls. Rules are evaluated in order; the first that matches decides. */
        Policy: {
            /** Format: date-time */
            createdAt: string;
            /** @enum {string} */
            decision: "allow" | "ask" | "block";
            /** @description When the rule expires; null for never. */
            expiresAt: string | null;
            id: string;
            /** @description Applies only to calls without a role. */
            noRole: boolean;
            /** @description Applies to calls of this process only; null for all. */
            processId: number | null;
            /** @description The remembered approval that made the rule; null for an administrator's rule. */
            remembered: components["schemas"]["RememberedApproval"] | null;
            /** @description Applies to calls under this role only; null for all, but see `noRole`. */
            roleId: string | null;
            servicePattern: string;
            toolPattern: string;
        };
        /** @description A submitted script, its state and its results. */
        Process: {
            /** @description Ids of the approvals the process waits for. */
            approvals: string[];
            /** @description What the last run left. */
            artifacts: components["schemas"]["ProcessArtifact"][];
            code: string;
            /** @description ISO 8601, UTC. */
            completedAt: string | null;
            createdAt: string;
            /** @description Module id of the environment of the current or last run. */
            environment: string | null;
            error: string | null;
            errorDetail: components["schemas"]["ScriptError"] | null;
            exitState: ("success" | "failed" | "timeout" | "canceled") | null;
            /** @description What runs find in their workspace. */
            files: components["schemas"]["ProcessFile"][];
            id: number;
            /** @description What the script finds as `cyrnel.input`; null: none, or null. */
            input: unknown;
            /** @description What the input has to fit. */
            inputSchema: {
                [key: string]: unknown;
            } | null;
            /** @description The name of the script among its files; null: script.ts. */
            name: string | null;
            options: components["schemas"]["RunLimits"];
            /** @description What the script emitted, merged. */
            output: {
                [key: string]: unknown;
            };
            /** @description Which packages the last run has imported. */
            packages: {
                /** @description SHA-256 of the code that the run got. */
                digest: string;
                name: string;
                version: string;
            }[];
            /** @description Where it is in the queue, as things are now. Only while it is queued. */
            queue?: {
                /** @description About how long it will wait; null: not known. */
                estimatedMs: number | null;
                /** @description 1: the next. */
                position: number;
            };
            /** @description Which way of ending it was. */
            reason: components["schemas"]["EndReason"] | null;
            ref?: string;
            /** @description What the script returned, or null. */
            result: unknown;
            /** @description ISO 8601, UTC. */
            startedAt: string | null;
            /** @enum {string} */
            state: "queued" | "running" | "paused" | "terminating" | "idle";
            stderr: string;
            stdout: string;
            truncated: {
                stderr: boolean;
                stdout: boolean;
            };
            usage: components["schemas"]["RunUsage"];
            /** @description What a reader of the run should know that did not fail it. At most 50; a last entry counts the rest. */
            warnings: components["schemas"]["RunWarning"][];
        };
        /** @description A file that the last run left. */
        ProcessArtifact: {
            contentType: string;
            name: string;
            /** @description Of the content, in hexadecimal. */
            sha256: string;
            /** @description Bytes. */
            size: number;
        };
        /** @description A file that a process is given. */
        ProcessFile: {
            contentType: string;
            id: string;
            name: string;
            /** @description Bytes. */
            size: number;
        };
        /** @description A process as lists show it: without code, input, stdout and stderr. */
        ProcessSummary: {
            /** @description Ids of the approvals the process waits for. */
            approvals: string[];
            /** @description ISO 8601, UTC. */
            completedAt: string | null;
            createdAt: string;
            /** @description Module id of the environment of the current or last run. */
            environment: string | null;
            error: string | null;
            errorDetail: components["schemas"]["ScriptError"] | null;
            exitState: ("success" | "failed" | "timeout" | "canceled") | null;
            id: number;
            options: components["schemas"]["RunLimits"];
            /** @description What the script emitted, merged. */
            output: {
                [key: string]: unknown;
            };
            /** @description Where it is in the queue, as things are now. Only while it is queued. */
            queue?: {
                /** @description About how long it will wait; null: not known. */
                estimatedMs: number | null;
                /** @description 1: the next. */
                position: number;
            };
            /** @description Which way of ending it was. */
            reason: components["schemas"]["EndReason"] | null;
            ref?: string;
            /** @description What the script returned, or null. */
            result: unknown;
            /** @description ISO 8601, UTC. */
            startedAt: string | null;
            /** @enum {string} */
            state: "queued" | "running" | "paused" | "terminating" | "idle";
            truncated: {
                stderr: boolean;
                stdout: boolean;
            };
            usage: components["schemas"]["RunUsage"];
            /** @description What a reader of the run should know that did not fail it. At most 50; a last entry counts the rest. */
            warnings: components["schemas"]["RunWarning"][];
        };
        /** @description The approval that made a rule. */
        RememberedApproval: {
            approvalId: string;
            /** @description It applies while none of these keys is revoked or expired. */
            keyIds: string[];
            /** @description The rule whose `ask` it replaces; null for the default's. */
            replaces: string | null;
        };
        /** @description A server on the same database. */
        Replica: {
            /** @description Its address for other replicas; null until it listens. */
            address: string | null;
            /** @description The environment module active there; null if none, so nothing can run. */
            environment: string | null;
            /**
             * Format: uuid
             * @description A new one at each start.
             */
            id: string;
            /** @description Whether this is the server that answers. */
            isSelf: boolean;
            /** @description Host name (of a pod: its name) and process id: `cyrnel-7c9f:1`. */
            name: string;
            /** @description Its runs, including those that are ending. */
            running: number;
            /**
             * Format: date-time
             * @description Its last heartbeat (every 5 s), by the clock of the database like `startedAt`.
             */
            seenAt: string;
            /** @description Maximum concurrent runs; null if unknown. */
            slots: number | null;
            /** Format: date-time */
            startedAt: string;
            /**
             * @description `draining`: shutting down, accepts no new work. `lost`: no heartbeat for 20 s; the others end its runs.
             * @enum {string}
             */
            state: "up" | "draining" | "lost";
            /** @description Of the program. */
            version: string;
        };
        /** @description A role: which tools a key may see and call, and which packages its scripts may import. */
        Role: {
            /** @description Patterns of tools it may see and call; none if empty. */
            allow: string[];
            /** Format: date-time */
            createdAt: string;
            /** @description Patterns of tools it may not see, even if `allow` matches them. */
            deny: string[];
            id: string;
            name: string;
            /** @description npm packages that its scripts may import: names, or patterns such as `@scope/*`. */
            packages: string[];
        };
        /** @description The limits in force. */
        RunLimits: {
            cpuMs: number | null;
            memoryMb: number | null;
            timeoutMs: number | null;
        };
        /** @description What the run used. */
        RunUsage: {
            cpuMs: number;
            peakMemoryBytes: number;
            queuedMs: number;
            startMs: number;
            toolCalls: number;
            wallMs: number;
        };
        /** @description A warning about a run that did not fail. */
        RunWarning: {
            code: string;
            column?: number;
            file?: string;
            line?: number;
            message: string;
            path?: string;
        };
        /**
         * @description What a key may do over HTTP.
         * @enum {string}
         */
        Scope: "processes:write" | "processes:read" | "processes:all" | "services:admin" | "modules:admin" | "packages:admin" | "approvals:decide" | "keys:admin" | "logs:read";
        /**
         * @description What a key may do over HTTP.
         * @enum {string}
         */
        ScopeInput: "processes:write" | "processes:read" | "processes:all" | "services:admin" | "modules:admin" | "packages:admin" | "approvals:decide" | "keys:admin" | "logs:read";
        /** @description Why the run ended without success. */
        ScriptError: {
            /** @description 1-based, in the submitted source. */
            column: number | null;
            /** @description The source file these are in; absent for the submitted script itself. */
            file?: string;
            /** @description 1-based, in the submitted source. */
            line: number | null;
            message: string;
            name: string;
            stack: string | null;
        };
        /** @description Which secrets of a module or service are set. */
        SecretsState: {
            /** @description JSON pointers of values that no longer match the schema, and of a service's secrets that would be sent to another place than when they were set. The service is then not used: set or remove all of these in one patch. */
            outdated: string[];
            /** @description JSON pointers of the values that are set. Values are never returned. */
            present: string[];
        };
        /** @description A service. */
        Service: {
            /** @description The module that made the tools of the definition and performs calls. */
            adapter: string;
            /** Format: date-time */
            createdAt: string;
            description: string;
            /** @description Whether its tools can be called: enabled, not stale, and accepted by its active adapter. */
            effectivelyEnabled: boolean;
            /** @description What was asked for. */
            enabled: boolean;
            /** @description Why it is stale, or was not accepted by its adapter. */
            error: string | null;
            /** @description SHA-256 of the definition. */
            hash: string;
            /** @description Chosen at installation; scripts call `tools.<id>.<tool>`. */
            id: string;
            name: string;
            /** @description Unreadable parts of its definition that were left out, and why; at most 51 sentences. */
            problems: string[];
            /** @description Registry URL; empty for a direct installation. */
            source: string;
            /** @description The adapter has changed and could not regenerate the tools. */
            stale: boolean;
        };
        /** @description A service with the schemas of its settings. */
        ServiceDetails: {
            /** @description The module that made the tools of the definition and performs calls. */
            adapter: string;
            /** @description JSON Schema of the configuration. */
            configSchema: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            description: string;
            /** @description Whether its tools can be called: enabled, not stale, and accepted by its active adapter. */
            effectivelyEnabled: boolean;
            /** @description What was asked for. */
            enabled: boolean;
            /** @description Why it is stale, or was not accepted by its adapter. */
            error: string | null;
            /** @description SHA-256 of the definition. */
            hash: string;
            /** @description Chosen at installation; scripts call `tools.<id>.<tool>`. */
            id: string;
            name: string;
            /** @description Unreadable parts of its definition that were left out, and why; at most 51 sentences. */
            problems: string[];
            /** @description JSON Schema of the secrets. */
            secretsSchema: {
                [key: string]: unknown;
            };
            /** @description Registry URL; empty for a direct installation. */
            source: string;
            /** @description The adapter has changed and could not regenerate the tools. */
            stale: boolean;
        };
        /** @description The tools that a definition would become. */
        ServicePreview: {
            description: string;
            name: string;
            /** @description Unreadable parts that would be left out, and why. */
            problems: string[];
            secretsSchema: {
                [key: string]: unknown;
            };
            toolCount: number;
            /** @description The first 200. */
            tools: {
                /** @description Of a rule of the adapter `http`: what it allows, in sentences. */
                description: string;
                destructive: boolean;
                id: string;
                name: string;
            }[];
        };
        /** @description A tool with the schemas of its parameters and its result. */
        Tool: {
            description: string;
            /** @description Whether a call may change something. */
            destructive: boolean;
            /** @description Whether it can be called: it and its service are enabled, the service is not stale, its adapter is enabled and present and has taken it on. */
            effectivelyEnabled: boolean;
            /** @description What was asked for. */
            enabled: boolean;
            /** @description Scripts call `tools.<serviceId>.<id>(parameters)`. */
            id: string;
            /** @description JSON Schema of the parameters. */
            inputSchema: {
                [key: string]: unknown;
            };
            name: string;
            /** @description JSON Schema of the result. */
            outputSchema: {
                [key: string]: unknown;
            };
            /**
             * @description What the policies say about a call by this caller.
             * @enum {string}
             */
            policy: "allow" | "ask" | "block";
            serviceId: string;
        };
        /** @description One tool call of a run. */
        ToolCall: {
            /** @description Without `waitedMs`; null while the call is under way. */
            durationMs: number | null;
            error?: string;
            /** @description Of the service's answer, where it came over HTTP. From 400 on the call counts as an error. */
            httpStatus?: number;
            /** @description JSON; a string with the beginning of its text if it was too long. */
            parameters?: unknown;
            /** @description Size of the parameters as JSON. */
            parametersBytes: number;
            /** @description JSON; a string with the beginning of its text if it was too long. */
            result?: unknown;
            /** @description Size of the result as JSON. */
            resultBytes: number;
            /** @description Order of issue, from 1. */
            seq: number;
            serviceId: string;
            startedAt: string;
            /** @description null while the call is under way. canceled: it was never sent. unknown: it was sent, and given up before it was answered. */
            status: ("ok" | "error" | "denied" | "canceled" | "unknown") | null;
            toolId: string;
            /** @description How long it stood still for a person to decide, and for its run to go on; 0 while it is under way. */
            waitedMs: number;
        };
        /** @description A tool. */
        ToolSummary: {
            description: string;
            /** @description Whether a call may change something. */
            destructive: boolean;
            /** @description Whether it can be called: it and its service are enabled, the service is not stale, its adapter is enabled and present and has taken it on. */
            effectivelyEnabled: boolean;
            /** @description What was asked for. */
            enabled: boolean;
            /** @description Scripts call `tools.<serviceId>.<id>(parameters)`. */
            id: string;
            name: string;
            /**
             * @description What the policies say about a call by this caller.
             * @enum {string}
             */
            policy: "allow" | "ask" | "block";
            /** @description How well it fits `query`; only with one. 0: nothing was found, and this is one of the nearest. */
            score?: number;
            serviceId: string;
            /** @description Its TypeScript type on one line; only with `query`. */
            signature?: string;
        };
    };
    responses: {
        /** @description Error: module_failed, download_failed, egress_refused, service_failed, tool_failed, tool_schema_invalid, result_invalid, result_too_large, invalid_descriptor, hash_mismatch */
        BadGateway: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: invalid_json, invalid_request, invalid_cursor, process_has_outputs, builtin_module, invalid_package, invalid_definition, invalid_parameters */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: process_not_idle, process_idle, ref_taken, name_taken, role_in_use, policy_order_mismatch, already_decided, approval_expired, limit_reached, module_missing, module_taken, service_taken, service_stale, adapter_inactive, service_disabled, secrets_outdated, tool_disabled, no_source, environments_draining */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: forbidden, policy_blocked, approval_unavailable, approval_denied, self_approval */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: call_timeout */
        GatewayTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: internal_error, secrets_key_missing */
        InternalServerError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: not_acceptable */
        NotAcceptable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: not_found */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: body_too_large, payload_too_large, storage_full */
        PayloadTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: precondition_failed */
        PreconditionFailed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: range_not_satisfiable */
        RangeNotSatisfiable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: no_environment, shutting_down, server_busy, database_unavailable, storage_unavailable, call_canceled, call_unavailable, audit_unavailable */
        ServiceUnavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: too_many_processes, rate_limited, too_many_calls, too_many_approvals, too_many_streams, too_many_uploads, too_many_bodies */
        TooManyRequests: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: unauthorized */
        Unauthorized: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: idempotency_mismatch */
        UnprocessableEntity: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Error: unsupported_media_type */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The whole name, or its beginning up to a dot and `*`: `key.*`. */
        Action: string;
        /** @description A key id, `bootstrap` or `anonymous`. */
        Actor: string;
        ApprovalsId: string;
        /** @description `nextCursor` of the page before. */
        Cursor: string;
        Decision: "allow" | "ask" | "block";
        Enabled: "true" | "false";
        /** @description File id. */
        FilesId: string;
        /** @description Not before this time. */
        From: string;
        /** @description `ETag` of the settings the patch was made for; 412 if they have changed. */
        IfMatch: string;
        /** @description ETags that the client has; 304 if one matches. */
        IfNoneMatch: string;
        /** @description The ETag that the range refers to. */
        IfRange: string;
        LastEventId: string;
        /** @description Exactly this level. */
        Level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
        /** @description This level and more severe ones. */
        LevelMin: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
        /** @description Items at most, 1 to 200. Default 50. */
        Limit: string;
        /** @description Anywhere in the message or the values of the record, in any case. */
        LogsQuery: string;
        LogsRequestId: string;
        ModulesId: string;
        ObjectId: string;
        ObjectKind: string;
        Outcome: "ok" | "refused" | "failed" | "canceled" | "unknown";
        /** @description The name, percent-encoded where it has a scope. */
        PackagesName: string;
        PackagesVersion: string;
        PoliciesId: string;
        /** @description Process id. */
        ProcessesId: string;
        /** @description The name of the file, percent-encoded. */
        ProcessesName: string;
        ProcessId: string;
        /** @description Matches part of an id, name or description, ignoring case. */
        Query: string;
        /** @description One range of bytes: `bytes=0-1023`. Several ranges return the whole content. */
        Range: string;
        RequestId: string;
        RolesId: string;
        ServiceId: string;
        ServicesId: string;
        /** @description Before this time. */
        To: string;
        ToolId: string;
        ToolsServiceId: string;
        ToolsToolId: string;
        Type: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listApprovals: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                processId?: string;
                serviceId?: string;
                state?: "pending" | "approved" | "denied" | "expired";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        approvals: components["schemas"]["ApprovalSummary"][];
                        /** @description Pass it as `cursor` for the next page; null on the last. */
                        nextCursor: string | null;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ApprovalsId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    approveApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ApprovalsId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The answer to a question: JSON. It has to fit the schema. */
                    data?: unknown;
                    /** @description Replaces, for a while, the `ask` that stopped this call: never a `block`, and only as long as the keys that submitted, started and decided count. Listed under the policies. */
                    remember?: {
                        /**
                         * @description This tool in this process, or in every process of the same role (or, like it, of none).
                         * @enum {string}
                         */
                        for: "process" | "tool";
                        /** @default 60 */
                        minutes?: number;
                    };
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden, self_approval */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: already_decided, approval_expired, limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down, audit_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    denyApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ApprovalsId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The script is told. */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden, self_approval */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: already_decided, approval_expired, limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down, audit_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    streamApprovals: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: components["parameters"]["LastEventId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAuditRecords: {
        parameters: {
            query?: {
                /** @description The whole name, or its beginning up to a dot and `*`: `key.*`. */
                action?: components["parameters"]["Action"];
                /** @description A key id, `bootstrap` or `anonymous`. */
                actor?: components["parameters"]["Actor"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                decision?: components["parameters"]["Decision"];
                /** @description Not before this time. */
                from?: components["parameters"]["From"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                objectId?: components["parameters"]["ObjectId"];
                objectKind?: components["parameters"]["ObjectKind"];
                outcome?: components["parameters"]["Outcome"];
                processId?: components["parameters"]["ProcessId"];
                requestId?: components["parameters"]["RequestId"];
                /** @description Before this time. */
                to?: components["parameters"]["To"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        records: components["schemas"]["AuditRecord"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    exportAuditRecords: {
        parameters: {
            query?: {
                /** @description The whole name, or its beginning up to a dot and `*`: `key.*`. */
                action?: components["parameters"]["Action"];
                /** @description A key id, `bootstrap` or `anonymous`. */
                actor?: components["parameters"]["Actor"];
                decision?: components["parameters"]["Decision"];
                /** @description Not before this time. */
                from?: components["parameters"]["From"];
                objectId?: components["parameters"]["ObjectId"];
                objectKind?: components["parameters"]["ObjectKind"];
                outcome?: components["parameters"]["Outcome"];
                processId?: components["parameters"]["ProcessId"];
                requestId?: components["parameters"]["RequestId"];
                /** @description Before this time. */
                to?: components["parameters"]["To"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One record per line. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, audit_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getEnvironment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Environment"];
                };
            };
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, no_environment */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getEnvironmentDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Markdown. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/markdown": string;
                };
            };
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, no_environment */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** @description Exactly this media type. */
                contentType?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                /** @description Exactly this name. */
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        files: components["schemas"]["File"][];
                        /** @description Limit for the key; null for none. */
                        maxStoredBytes: number | null;
                        /** @description Pass it as `cursor` for the next page; null on the last. */
                        nextCursor: string | null;
                        /** @description Bytes stored for this key: uploads, files given to its processes, and files they left or saved, each content once. */
                        storedBytes: number;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    uploadFile: {
        parameters: {
            query?: {
                /** @description File name for downloads. */
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This key already has the file; its expiry was extended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: body_too_large, storage_full */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_uploads */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down, storage_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description File id. */
                id: components["parameters"]["FilesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description File id. */
                id: components["parameters"]["FilesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags that the client has; 304 if one matches. */
                "if-none-match"?: components["parameters"]["IfNoneMatch"];
                /** @description The ETag that the range refers to. */
                "if-range"?: components["parameters"]["IfRange"];
                /** @description One range of bytes: `bytes=0-1023`. Several ranges return the whole content. */
                range?: components["parameters"]["Range"];
            };
            path: {
                /** @description File id. */
                id: components["parameters"]["FilesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested part. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The client already has it. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: range_not_satisfiable */
            416: components["responses"]["RangeNotSatisfiable"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, storage_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
            /** @description Service Unavailable. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        failing: {
                            check: string;
                            message: string;
                        }[];
                        /** @enum {string} */
                        status: "unavailable";
                    };
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        keys: components["schemas"]["Key"][];
                        nextCursor: string | null;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description When it stops working; never without one.
                     * @default null
                     */
                    expiresAt?: string | null;
                    name: string;
                    /**
                     * @description Tools that it and the scripts it submits may see and call; all without one.
                     * @default null
                     */
                    roleId?: string | null;
                    /** @description What it may do over HTTP. */
                    scopes: components["schemas"]["ScopeInput"][];
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listLogs: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Not before this time. */
                from?: components["parameters"]["From"];
                /** @description Exactly this level. */
                level?: components["parameters"]["Level"];
                /** @description This level and more severe ones. */
                levelMin?: components["parameters"]["LevelMin"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                processId?: components["parameters"]["ProcessId"];
                /** @description Anywhere in the message or the values of the record, in any case. */
                query?: components["parameters"]["LogsQuery"];
                requestId?: components["parameters"]["LogsRequestId"];
                serviceId?: components["parameters"]["ServiceId"];
                /** @description Before this time. */
                to?: components["parameters"]["To"];
                toolId?: components["parameters"]["ToolId"];
                type?: components["parameters"]["Type"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        logs: components["schemas"]["LogRecord"][];
                        nextCursor: string | null;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    streamLogs: {
        parameters: {
            query?: {
                /** @description Not before this time. */
                from?: components["parameters"]["From"];
                /** @description Exactly this level. */
                level?: components["parameters"]["Level"];
                /** @description This level and more severe ones. */
                levelMin?: components["parameters"]["LevelMin"];
                processId?: components["parameters"]["ProcessId"];
                /** @description Anywhere in the message or the values of the record, in any case. */
                query?: components["parameters"]["LogsQuery"];
                requestId?: components["parameters"]["LogsRequestId"];
                serviceId?: components["parameters"]["ServiceId"];
                /** @description Before this time. */
                to?: components["parameters"]["To"];
                toolId?: components["parameters"]["ToolId"];
                type?: components["parameters"]["Type"];
            };
            header?: {
                "last-event-id"?: components["parameters"]["LastEventId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited, too_many_streams */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text format of Prometheus. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listModules: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                enabled?: components["parameters"]["Enabled"];
                isBuiltin?: "true" | "false";
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                missing?: "true" | "false";
                /** @description Matches part of an id, name or description, ignoring case. */
                query?: components["parameters"]["Query"];
                type?: "adapter" | "environment";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        modules: components["schemas"]["Module"][];
                        nextCursor: string | null;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    installModule: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description URL of a package (.tar.zst). Used once, not stored. */
                    url: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installed"];
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_package */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_taken */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getModule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Module"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteModule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request, builtin_module */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replaceModule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description URL of a package (.tar.zst). Used once, not stored. */
                    url: string;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description False if this package was already installed. */
                        updated: boolean;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_package, builtin_module */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: environments_draining */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getModuleConfig: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    patchModuleConfig: {
        parameters: {
            query?: never;
            header?: {
                /** @description `ETag` of the settings the patch was made for; 412 if they have changed. */
                "if-match"?: components["parameters"]["IfMatch"];
            };
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JsonPatch"];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_missing, environments_draining */
            409: components["responses"]["Conflict"];
            /** @description Error: precondition_failed */
            412: components["responses"]["PreconditionFailed"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getModuleConfigSchema: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description JSON Schema of the configuration. */
                        configSchema: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_missing */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    setModuleEnabled: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        enabled: boolean;
                        id: string;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_missing, environments_draining */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getModuleSecrets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretsState"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    patchModuleSecrets: {
        parameters: {
            query?: never;
            header?: {
                /** @description `ETag` of the settings the patch was made for; 412 if they have changed. */
                "if-match"?: components["parameters"]["IfMatch"];
            };
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JsonPatch"];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        updated: true;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_missing, environments_draining */
            409: components["responses"]["Conflict"];
            /** @description Error: precondition_failed */
            412: components["responses"]["PreconditionFailed"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getModuleSecretsSchema: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description JSON Schema of the secrets. */
                        secretsSchema: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_missing */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateModule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ModulesId"];
            };
            cookie?: never;
        };
        /** @description Nothing. */
        requestBody: {
            content: {
                "application/json": Record<string, unknown> | null;
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description False if this package was already installed. */
                        updated: boolean;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_package, builtin_module */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: environments_draining, no_source */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, invalid_descriptor, hash_mismatch, module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    installModuleFromRegistry: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description URL of the registry's descriptor, `{downloadUrl, hash?, id?}`. Stored, for updates. */
                    source: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installed"];
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_package */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: module_taken */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, invalid_descriptor, hash_mismatch */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    reloadModules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Nothing. */
        requestBody: {
            content: {
                "application/json": Record<string, unknown> | null;
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description New ids; they are disabled unless they were known. */
                        added: string[];
                        /** @description Ids whose files changed. */
                        changed: string[];
                        /** @description Folders without a usable module, and why. */
                        problems: {
                            error: string;
                            folder: string;
                        }[];
                        /** @description Ids whose files were removed; they are now `missing`. */
                        removed: string[];
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPackageInstallations: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        installations: components["schemas"]["PackageInstallation"][];
                        nextCursor: string | null;
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPackageInstallation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackageInstallation"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPackages: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                /** @description Exactly this name. */
                name?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        packages: components["schemas"]["PackageSummary"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    installPackage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description A package-lock.json that names the package: exactly its tree is installed. */
                    lock?: {
                        [key: string]: unknown;
                    };
                    name: string;
                    /** @description The newest version that fits; default: latest. */
                    range?: string;
                    /** @description Exactly this version. */
                    version?: string;
                };
            };
        };
        responses: {
            /** @description Accepted. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackageInstallation"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPackage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name, percent-encoded where it has a scope. */
                name: components["parameters"]["PackagesName"];
                version: components["parameters"]["PackagesVersion"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Package"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePackage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name, percent-encoded where it has a scope. */
                name: components["parameters"]["PackagesName"];
                version: components["parameters"]["PackagesVersion"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getPackageTypes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name, percent-encoded where it has a scope. */
                name: components["parameters"]["PackagesName"];
                version: components["parameters"]["PackagesVersion"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The declarations of a package and its dependencies; empty if they were too large. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Declarations by file, as they lie below node_modules. */
                        files: {
                            [key: string]: string;
                        };
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listPolicies: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Decision when no rule matches.
                         * @enum {string}
                         */
                        defaultPolicy: "allow" | "ask-destructive" | "ask" | "block";
                        nextCursor: string | null;
                        policies: components["schemas"]["Policy"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    decision: "allow" | "ask" | "block";
                    /** @default null */
                    expiresAt?: string | null;
                    /**
                     * @description Applies only to calls without a role; excludes `roleId`.
                     * @default false
                     */
                    noRole?: boolean;
                    /** @default null */
                    roleId?: string | null;
                    /** @description A name, `*` for any service, or a name with one `*` in it. */
                    servicePattern: string;
                    /** @description `*` for any tool, a name, or a name with one `*` in it. For tools in groups, segments such as `issues.*` or `**.list`. */
                    toolPattern: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedPolicy"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deletePolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["PoliciesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updatePolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["PoliciesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    decision?: "allow" | "ask" | "block";
                    expiresAt?: string | null;
                    noRole?: boolean;
                    roleId?: string | null;
                    /** @description A name, `*` for any service, or a name with one `*` in it. */
                    servicePattern?: string;
                    /** @description `*` for any tool, a name, or a name with one `*` in it. For tools in groups, segments such as `issues.*` or `**.list`. */
                    toolPattern?: string;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedPolicy"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    orderPolicies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The id of every rule, in the order of evaluation. */
                    orderedIds: string[];
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        orderedIds: string[];
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: policy_order_mismatch */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    previewPolicy: {
        parameters: {
            query: {
                /** @description Previews a caller with this role; without it, a caller without a role. */
                roleId?: string;
                /** @description A name, `*` for any service, or a name with one `*` in it. */
                servicePattern: string;
                /** @description `*` for any tool, a name, or a name with one `*` in it. For tools in groups, segments such as `issues.*` or `**.list`. */
                toolPattern: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Number of matching tools; `tools` has the first ones. */
                        affected: number;
                        hints: string[];
                        tools: {
                            /**
                             * @description Current decision about a call.
                             * @enum {string}
                             */
                            decision: "allow" | "ask" | "block";
                            destructive: boolean;
                            id: string;
                            /** @description The rule that decides; null for the default. */
                            policyId: string | null;
                            serviceId: string;
                        }[];
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listProcesses: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                limit?: string;
                /** @description Exactly this ref; spaces around it do not count. */
                ref?: string;
                state?: "queued" | "running" | "paused" | "terminating" | "idle";
                /** @description An exit state, or `null` for processes without one. */
                status?: "success" | "failed" | "timeout" | "canceled" | "null";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Pass it as `cursor` for the next page; null on the last. */
                        nextCursor: string | null;
                        processes: components["schemas"]["ProcessSummary"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createProcess: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body within 24 hours answer the first process again. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description false stores the process without running it.
                     * @default true
                     */
                    autorun?: boolean;
                    /**
                     * @description true answers when the run has ended, with the whole record.
                     * @default false
                     */
                    block?: boolean;
                    /** @description The script: TypeScript. */
                    code: string;
                    /** @description Files that the script finds in its workspace, by name. */
                    files?: {
                        [key: string]: {
                            /** @description Id of an upload, from `POST /files`. */
                            id: string;
                        } | {
                            text: string;
                        } | {
                            /** Format: byte */
                            base64: string;
                        };
                    };
                    /** @description JSON that the script finds as `cyrnel.input`; at most 1 MiB of JSON text, nested at most 64 levels deep. */
                    input?: unknown;
                    /** @description JSON Schema (draft 2020-12) that `input` has to fit, here and in every later run; at most 64 KiB of JSON text. Nothing is filled in. */
                    inputSchema?: {
                        [key: string]: unknown;
                    };
                    /** @description The name of the script among its files: its imports are relative to it, and errors show it. Default: script.ts. */
                    name?: string;
                    /** @default {} */
                    options?: {
                        /** @description CPU time limit in milliseconds. Default: none, or the server maximum. */
                        cpuMs?: number;
                        /** @description Memory limit in MiB. Default and maximum: the environment's. */
                        memoryMb?: number;
                        /**
                         * @description Milliseconds from the start of running; null is no limit. Clamped to the server maximum.
                         * @default 30000
                         */
                        timeout?: number | null;
                    };
                    /**
                     * @description Among the queued processes of the same key, higher ones run first.
                     * @default 0
                     */
                    priority?: number;
                    /** @description The client's own unique label of the process. */
                    ref?: string;
                };
            };
        };
        responses: {
            /** @description The id; with `block` the whole record. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"] | {
                        id: number;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: ref_taken, limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, storage_full */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: idempotency_mismatch */
            422: components["responses"]["UnprocessableEntity"];
            /** @description Error: rate_limited, too_many_bodies, too_many_processes */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down, no_environment */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProcess: {
        parameters: {
            query?: {
                /** @description Milliseconds (at most 60000) to wait until the process is idle or paused. */
                wait?: string;
            };
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteProcess: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listProcessArtifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        artifacts: components["schemas"]["Artifact"][];
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadProcessArtifacts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The archive. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-tar": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, storage_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadProcessArtifact: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags that the client has; 304 if one matches. */
                "if-none-match"?: components["parameters"]["IfNoneMatch"];
                /** @description The ETag that the range refers to. */
                "if-range"?: components["parameters"]["IfRange"];
                /** @description One range of bytes: `bytes=0-1023`. Several ranges return the whole content. */
                range?: components["parameters"]["Range"];
            };
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
                /** @description The name of the file, percent-encoded. */
                name: components["parameters"]["ProcessesName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested part. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The client already has it. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: range_not_satisfiable */
            416: components["responses"]["RangeNotSatisfiable"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, storage_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listProcessCalls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        calls: components["schemas"]["ToolCall"][];
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProcessCode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The script. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    streamProcessEvents: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received: the stream goes on after it. */
                "last-event-id"?: string;
            };
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The client has everything of a finished process: do not reconnect. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: not_acceptable */
            406: components["responses"]["NotAcceptable"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    downloadProcessFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags that the client has; 304 if one matches. */
                "if-none-match"?: components["parameters"]["IfNoneMatch"];
                /** @description The ETag that the range refers to. */
                "if-range"?: components["parameters"]["IfRange"];
                /** @description One range of bytes: `bytes=0-1023`. Several ranges return the whole content. */
                range?: components["parameters"]["Range"];
            };
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
                /** @description The name of the file, percent-encoded. */
                name: components["parameters"]["ProcessesName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested part. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The client already has it. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: range_not_satisfiable */
            416: components["responses"]["RangeNotSatisfiable"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, storage_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProcessOutput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    killProcess: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record; for a key without `processes:read` the id and the state alone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"] | {
                        id: number;
                        /** @enum {string} */
                        state: "queued" | "running" | "paused" | "terminating" | "idle";
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    runProcess: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description Answer when the run has ended.
                     * @default false
                     */
                    block?: boolean;
                    /**
                     * @description Run although there are results of an earlier run; they are cleared.
                     * @default false
                     */
                    force?: boolean;
                    /** @description Replaces the input of the process, from this run on; has to fit its `inputSchema`. Absent: the input stays. */
                    input?: unknown;
                };
            };
        };
        responses: {
            /** @description The record; for a key without `processes:read` the id and the state alone. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Process"] | {
                        id: number;
                        /** @enum {string} */
                        state: "queued" | "running" | "paused" | "terminating" | "idle";
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, process_has_outputs */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle, limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies, too_many_processes */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down, no_environment */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProcessStderr: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description stderr */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProcessStdout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Process id. */
                id: components["parameters"]["ProcessesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description stdout */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: process_not_idle */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    streamProcesses: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_acceptable */
            406: components["responses"]["NotAcceptable"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listReplicas: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        replicas: components["schemas"]["Replica"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listRoles: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        roles: components["schemas"]["Role"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createRole: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    allow?: string[];
                    /** @default [] */
                    deny?: string[];
                    /** @description Generated by the server if absent. */
                    id?: string;
                    name: string;
                    /**
                     * @default [
                     *       "*"
                     *     ]
                     */
                    packages?: string[];
                    /** @description Alias of `allow`: give one of the two. */
                    patterns?: string[];
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedRole"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: name_taken, limit_reached */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["RolesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["RolesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: role_in_use */
            409: components["responses"]["Conflict"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["RolesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    allow?: string[];
                    deny?: string[];
                    name?: string;
                    packages?: string[];
                    /** @description Alias of `allow`: give one of the two. */
                    patterns?: string[];
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedRole"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: name_taken */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listServices: {
        parameters: {
            query?: {
                adapter?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                enabled?: components["parameters"]["Enabled"];
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                /** @description Matches part of an id, name or description, ignoring case. */
                query?: components["parameters"]["Query"];
                stale?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        services: components["schemas"]["Service"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    installService: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Exactly one of `url` and `content`. */
        requestBody: {
            content: {
                "application/json": {
                    adapter: string;
                    /** @description The definition itself. */
                    content?: string;
                    id: string;
                    /** @description For OpenAPI documents: which operations become tools. An entry is an operationId, "GET /repos/*" or "tag:issues"; `*` is any characters, `!` before it excludes. Kept as the setting `operationFilter` of the service. */
                    operationFilter?: string[];
                    /** @description Where the definition is downloaded from, once, with the files of the same origin that an OpenAPI document refers to. Relative servers of such a document are relative to it, so it is stored for them without its query; else it is not stored. */
                    url?: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installed"];
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: adapter_inactive, service_taken */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getService: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceDetails"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteService: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    replaceService: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        /** @description Exactly one of `url` and `content`. */
        requestBody: {
            content: {
                "application/json": {
                    /** @description The definition itself. */
                    content?: string;
                    /** @description Where the definition is downloaded from, once, with the files of the same origin that an OpenAPI document refers to. Relative servers of such a document are relative to it, so it is stored for them without its query; else it is not stored. */
                    url?: string;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description False if this definition was already installed. */
                        updated: boolean;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: adapter_inactive, secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getServiceConfig: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    patchServiceConfig: {
        parameters: {
            query?: never;
            header?: {
                /** @description `ETag` of the settings the patch was made for; 412 if they have changed. */
                "if-match"?: components["parameters"]["IfMatch"];
            };
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JsonPatch"];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: precondition_failed */
            412: components["responses"]["PreconditionFailed"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getServiceConfigSchema: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description JSON Schema of the configuration. */
                        configSchema: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    setServiceEnabled: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        enabled: boolean;
                        id: string;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: service_stale, adapter_inactive, secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getServiceSecrets: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretsState"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    patchServiceSecrets: {
        parameters: {
            query?: never;
            header?: {
                /** @description `ETag` of the settings the patch was made for; 412 if they have changed. */
                "if-match"?: components["parameters"]["IfMatch"];
            };
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JsonPatch"];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        updated: true;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: precondition_failed */
            412: components["responses"]["PreconditionFailed"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error, secrets_key_missing */
            500: components["responses"]["InternalServerError"];
            /** @description Error: service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getServiceSecretsSchema: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description JSON Schema of the secrets. */
                        secretsSchema: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    syncService: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description False if this definition was already installed. */
                        updated: boolean;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: adapter_inactive, secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateService: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: components["parameters"]["ServicesId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        /** @description False if this definition was already installed. */
                        updated: boolean;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: adapter_inactive, no_source, secrets_outdated */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, invalid_descriptor, hash_mismatch, service_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    installServiceFromRegistry: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Defaults to the descriptor's value. */
                    adapter?: string;
                    /** @description Defaults to the descriptor's value. */
                    id?: string;
                    /** @description For OpenAPI documents: which operations become tools. An entry is an operationId, "GET /repos/*" or "tag:issues"; `*` is any characters, `!` before it excludes. Kept as the setting `operationFilter` of the service. */
                    operationFilter?: string[];
                    /** @description URL of the registry's descriptor. Stored, for updates. */
                    source: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installed"];
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: adapter_inactive, service_taken */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed, invalid_descriptor, hash_mismatch */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    previewService: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description Exactly one of `url` and `content`. */
        requestBody: {
            content: {
                "application/json": {
                    adapter: string;
                    /** @description The definition itself. */
                    content?: string;
                    /** @description For OpenAPI documents: which operations become tools. An entry is an operationId, "GET /repos/*" or "tag:issues"; `*` is any characters, `!` before it excludes. Kept as the setting `operationFilter` of the service. */
                    operationFilter?: string[];
                    /** @description Where the definition is downloaded from, once, with the files of the same origin that an OpenAPI document refers to. Relative servers of such a document are relative to it, so it is stored for them without its query; else it is not stored. */
                    url?: string;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServicePreview"];
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_definition */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: adapter_inactive */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large, payload_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: egress_refused, download_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listTools: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["Cursor"];
                /** @description The tool's own flag. */
                enabled?: "true" | "false";
                /** @description Items at most, 1 to 200. Default 50. */
                limit?: components["parameters"]["Limit"];
                /** @description What a tool should do, in any words. Each may be found in path, name, description or parameters: as it is, in another form, as the start of a word, misspelt, or as a synonym. More and rarer words rank higher. */
                query?: string;
                /** @description Only tools of this service; 404 where there is none. */
                serviceId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        /** @description Only on the first page for `query` and without `serviceId`: up to 5 npm packages that fit and that scripts of the caller may import. */
                        packages?: {
                            description: string;
                            name: string;
                            version: string;
                        }[];
                        /** @description Only where nothing was found for `query`: ids of the services there are, at most 50. */
                        services?: string[];
                        tools: components["schemas"]["ToolSummary"][];
                    };
                };
            };
            /** @description Error: invalid_request, invalid_cursor */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serviceId: components["parameters"]["ToolsServiceId"];
                toolId: components["parameters"]["ToolsToolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tool"];
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getToolDocs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serviceId: components["parameters"]["ToolsServiceId"];
                toolId: components["parameters"]["ToolsToolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Markdown with a TypeScript signature and an example. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/markdown": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: module_failed */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, no_environment */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    setToolEnabled: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serviceId: components["parameters"]["ToolsServiceId"];
                toolId: components["parameters"]["ToolsToolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        enabled: boolean;
                        id: string;
                        serviceId: string;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable, server_busy, shutting_down */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    invokeTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                serviceId: components["parameters"]["ToolsServiceId"];
                toolId: components["parameters"]["ToolsToolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description What the tool is called with; checked against its `inputSchema`.
                     * @default {}
                     */
                    parameters?: {
                        [key: string]: unknown;
                    };
                    /**
                     * @description false: an answer of the service that says it failed, such as HTTP 404, is the result.
                     * @default true
                     */
                    throwOnError?: boolean;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description What the tool answered: any JSON. */
                        result: unknown;
                    };
                };
            };
            /** @description Error: invalid_json, invalid_request, invalid_parameters */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden, policy_blocked, approval_unavailable */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: service_disabled, service_stale, adapter_inactive, tool_disabled */
            409: components["responses"]["Conflict"];
            /** @description Error: body_too_large */
            413: components["responses"]["PayloadTooLarge"];
            /** @description Error: unsupported_media_type */
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Error: rate_limited, too_many_bodies, too_many_calls */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: service_failed, tool_schema_invalid, tool_failed, result_invalid, result_too_large */
            502: components["responses"]["BadGateway"];
            /** @description Error: database_unavailable, server_busy, shutting_down, call_canceled, call_unavailable */
            503: components["responses"]["ServiceUnavailable"];
            /** @description Error: call_timeout */
            504: components["responses"]["GatewayTimeout"];
        };
    };
    getToolTypes: {
        parameters: {
            query?: {
                /** @description false: without `fetch`, `URL`, `console` and what else any script finds, for a project in which other declarations have them. */
                globals?: "true" | "false";
                /** @description Only tools of this service, and no packages. */
                serviceId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description TypeScript; `ETag`, `If-None-Match` and `Accept-Encoding: gzip` are supported. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Not changed. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Error: invalid_request */
            400: components["responses"]["BadRequest"];
            /** @description Error: unauthorized */
            401: components["responses"]["Unauthorized"];
            /** @description Error: forbidden */
            403: components["responses"]["Forbidden"];
            /** @description Error: not_found */
            404: components["responses"]["NotFound"];
            /** @description Error: rate_limited */
            429: components["responses"]["TooManyRequests"];
            /** @description Error: internal_error */
            500: components["responses"]["InternalServerError"];
            /** @description Error: database_unavailable */
            503: components["responses"]["ServiceUnavailable"];
        };
    };
}
