"""Runs one script and speaks with the server: messages in on standard input, out on descriptor 3, one JSON per line."""

import ast
import itertools
import json
import math
import os
import resource
import sys
import threading
import traceback

SCRIPT = "<script>"
OUT = os.fdopen(3, "w", encoding="utf-8", buffering=1, closefd=False)
OUT_LOCK = threading.Lock()
# Not for what the script starts.
os.set_inheritable(3, False)


def send(message):
    text = json.dumps(message, allow_nan=False, default=refuse)
    with OUT_LOCK:
        OUT.write(text + "\n")
        OUT.flush()


def refuse(value):
    raise TypeError(f"{type(value).__name__} is no JSON")


class ToolError(Exception):
    """A call failed. `code` and `status` say how, where the server knows."""

    def __init__(self, error):
        super().__init__(error.get("message", ""))
        self.name = error.get("name", "Error")
        self.code = error.get("code")
        self.status = error.get("status")


class Bridge:
    """Calls of any thread, each waiting for its own answer."""

    def __init__(self):
        self.ids = itertools.count(1)
        self.waiting = {}
        self.lock = threading.Lock()

    def listen(self):
        for line in sys.__stdin__.buffer:
            answer = json.loads(line)
            with self.lock:
                entry = self.waiting.pop(answer["id"], None)
            if entry is not None:
                entry["answer"] = answer
                entry["ready"].set()

    def call(self, method, params):
        entry = {"ready": threading.Event()}
        with self.lock:
            call_id = next(self.ids)
            self.waiting[call_id] = entry
        send({"type": "call", "id": call_id, "method": method, "params": params})
        entry["ready"].wait()
        answer = entry["answer"]
        if answer["ok"]:
            return answer.get("value")
        raise ToolError(answer["error"])


class Tool:
    def __init__(self, bridge, service_id, tool_id):
        self._bridge, self._service, self._tool = bridge, service_id, tool_id

    def __call__(self, parameters=None, **named):
        return self._bridge.call(
            "invokeTool",
            {"serviceId": self._service, "toolId": self._tool, "parameters": {**(parameters or {}), **named}},
        )


class Service:
    def __init__(self, bridge, service_id):
        self._bridge, self._service = bridge, service_id

    def __getattr__(self, tool_id):
        if tool_id.startswith("__"):
            raise AttributeError(tool_id)
        return Tool(self._bridge, self._service, tool_id)


class Tools:
    """tools.<service>.<tool>(parameters)"""

    def __init__(self, bridge):
        self._bridge = bridge

    def __getattr__(self, service_id):
        if service_id.startswith("__"):
            raise AttributeError(service_id)
        return Service(self._bridge, service_id)


class Cyrnel:
    def __init__(self, bridge, start):
        self._bridge = bridge
        self.process = {"id": start["eid"], "ref": start["ref"]}

    def output(self, value):
        if not isinstance(value, dict):
            raise TypeError("cyrnel.output takes a dict")
        send({"type": "output", "value": value})

    def discover_services(self, **query):
        return self._bridge.call("discoverServices", query)

    def discover_tools(self, **query):
        return self._bridge.call("discoverTools", query)

    def get_service(self, service_id):
        return self._bridge.call("getService", {"id": service_id})

    def get_tool(self, service_id, tool_id):
        return self._bridge.call("getTool", {"serviceId": service_id, "toolId": tool_id})

    def get_tool_docs(self, service_id, tool_id):
        return self._bridge.call("getToolDocs", {"serviceId": service_id, "toolId": tool_id})

    def ask(self, message, schema=None):
        return self._bridge.call("ask", {"message": message, "schema": schema})


def limit(memory_mb, cpu_ms):
    """Given up for good: a process may lower its limits, and only root could raise them again."""
    size = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cpu_ms is not None:
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        seconds = math.ceil(used + cpu_ms / 1000)
        # One second later the kernel sends a signal that cannot be handled.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def returns(statements):
    """Whether a `return` stands outside of functions."""
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for child in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(statement, child, [])
            if any(returns(part.body) for part in inner if hasattr(part, "body") and not isinstance(part, ast.stmt)):
                return True
            if returns([part for part in inner if isinstance(part, ast.stmt)]):
                return True
    return False


def compile_script(code):
    """A script is a module. One that returns is the body of a function, with the same lines."""
    tree = ast.parse(code, SCRIPT)
    if not returns(tree.body):
        return compile(tree, SCRIPT, "exec"), False
    wrapper = ast.parse("def __script__(): pass")
    wrapper.body[0].body = tree.body
    return compile(ast.fix_missing_locations(wrapper), SCRIPT, "exec"), True


def run(start, bridge):
    names = {"__name__": "__main__", "cyrnel": Cyrnel(bridge, start), "tools": Tools(bridge), "ToolError": ToolError}
    code, is_function = compile_script(start["code"])
    exec(code, names)
    return names["__script__"]() if is_function else names.get("result")


def describe(error):
    detail = {"name": getattr(error, "name", None) if isinstance(error, ToolError) else type(error).__name__}
    detail["message"] = (error.msg if isinstance(error, SyntaxError) else str(error)) or type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        detail["line"], detail["column"] = error.lineno, error.offset
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == SCRIPT]
        lines = [f"    at {frame.name.replace('__script__', '<module>')} (script.py:{frame.lineno})" for frame in frames]
        detail["stack"] = "\n".join([f"{detail['name']}: {detail['message']}", *reversed(lines)])
        if frames:
            detail["line"] = frames[-1].lineno
            detail["column"] = (getattr(frames[-1], "colno", None) or 0) + 1
    return detail


def main():
    start = json.loads(sys.__stdin__.buffer.readline())
    bridge = Bridge()
    threading.Thread(target=bridge.listen, daemon=True).start()
    limit(start["memoryMb"], start["cpuMs"])
    try:
        result = run(start, bridge)
        ending = {"type": "end", "ok": True, "result": result}
        json.dumps(ending, allow_nan=False, default=refuse)
    except SystemExit as error:
        if error.code in (None, 0):
            ending = {"type": "end", "ok": True}
        else:
            message = f"The script exited with {error.code!r}."
            ending = {"type": "end", "ok": False, "error": {"name": "SystemExit", "message": message}}
    except BaseException as error:
        is_syntax = isinstance(error, SyntaxError) and error.filename == SCRIPT
        ending = {"type": "end", "ok": False, "syntax": is_syntax, "error": describe(error)}
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    send(ending)
    # The server measures and kills. Threads of the script must not go on until then, nor keep this from ending.
    threading.Event().wait(5)
    os._exit(0)


main()
