/** The demo's tools, settings and secrets: one of every kind that a console or a client shows. */
import type { ServiceDefinition } from "#sdk";

const task = {
  type: "object",
  properties: {
    id: { type: "integer" },
    title: { type: "string" },
    status: { enum: ["open", "done"] },
    points: { type: "integer" },
    owner: { type: "string" },
  },
  required: ["id", "title", "status", "points", "owner"],
};

export const DEMO_DEFINITION: ServiceDefinition = {
  name: "Demo board",
  description:
    "A board of tasks in the server's memory. It is empty after each start of the server and sends no requests.",
  configSchema: {
    type: "object",
    properties: {
      owner: {
        type: "string",
        minLength: 1,
        maxLength: 60,
        default: "you",
        description: "Who owns the tasks that scripts add.",
      },
      maxTasks: {
        type: "integer",
        minimum: 1,
        maximum: 500,
        default: 100,
        description: "Limit of tasks on the board.",
      },
    },
    additionalProperties: false,
  },
  secretsSchema: {
    type: "object",
    properties: {
      signature: {
        type: "string",
        minLength: 1,
        maxLength: 200,
        description:
          "Signs every new task. No script ever sees it, because results of tools pass the redactor.",
      },
    },
    additionalProperties: false,
  },
  tools: [
    {
      id: "listTasks",
      name: "List tasks",
      description: "The tasks on the board, newest first.",
      inputSchema: {
        type: "object",
        properties: { status: { enum: ["open", "done"], description: "Only these." } },
        additionalProperties: false,
      },
      outputSchema: {
        type: "object",
        properties: { tasks: { type: "array", items: task } },
        required: ["tasks"],
      },
      adapterDomain: null,
    },
    {
      id: "addTask",
      name: "Add a task",
      description: "Puts a task on the board and returns it.",
      inputSchema: {
        type: "object",
        properties: {
          title: { type: "string", minLength: 1, maxLength: 200 },
          points: { type: "integer", minimum: 0, maximum: 100, description: "How much work it is." },
        },
        required: ["title"],
        additionalProperties: false,
      },
      outputSchema: task,
      adapterDomain: null,
    },
    {
      id: "finishTask",
      name: "Finish a task",
      description: "Marks a task as done.",
      inputSchema: {
        type: "object",
        properties: { id: { type: "integer", minimum: 1 } },
        required: ["id"],
        additionalProperties: false,
      },
      outputSchema: task,
      adapterDomain: null,
    },
    {
      id: "clearBoard",
      name: "Clear the board",
      description: "Removes every task. Consider a rule that asks an approver first.",
      inputSchema: {
        type: "object",
        properties: { reason: { type: "string", minLength: 1, maxLength: 500 } },
        required: ["reason"],
        additionalProperties: false,
      },
      outputSchema: {
        type: "object",
        properties: { removed: { type: "integer" } },
        required: ["removed"],
      },
      adapterDomain: null,
      destructive: true,
    },
  ],
  adapterDomain: null,
};
