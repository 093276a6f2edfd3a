/** Keeps one board per service while the service is enabled. Parameters were checked against the input schemas. */
import { z } from "zod";
import { createAdapter } from "#modules/shared/adapter.ts";
import type { AdapterModule } from "#sdk";
import { DEMO_DEFINITION } from "./definition.ts";

interface Task {
  id: number;
  title: string;
  status: "open" | "done";
  points: number;
  owner: string;
}

interface Board {
  tasks: Task[];
  lastId: number;
  owner: string;
  maxTasks: number;
}

type Tool = (board: Board, parameters: Record<string, unknown>) => unknown;

const FIRST_TASKS = ["Read a script before running it", "Run it in a sandbox anyway", "Approve what matters"];
const FIRST_POINTS = [1, 3, 2];
const DEFAULT_MAX_TASKS = 100;

const TOOLS: Readonly<Record<string, Tool>> = {
  listTasks: ({ tasks }, { status }) => ({
    tasks: tasks.filter((task) => status === undefined || task.status === status).toReversed(),
  }),
  addTask(board, { title, points }) {
    if (board.tasks.length >= board.maxTasks) {
      throw new Error(
        `The board is full: the limit is ${board.maxTasks} tasks. Clear it, or raise maxTasks in its settings.`,
      );
    }
    return add(board, String(title), Number(points ?? 1));
  },
  finishTask({ tasks }, { id }) {
    const task = tasks.find((candidate) => candidate.id === id);
    if (task === undefined) throw new Error(`There is no task ${id} on the board.`);
    task.status = "done";
    return { ...task };
  },
  clearBoard(board) {
    const removed = board.tasks.length;
    board.tasks = [];
    return { removed };
  },
};

export function createDemoAdapter(): AdapterModule {
  return createAdapter<null, Board, unknown>({
    toolSchema: z.unknown(),
    refuse: (problem) => new Error(problem),
    setup: () => null,
    async define(_host, input) {
      if (!isEmptyObject(input))
        throw new Error("Expected {} as the definition of a demo; it has no members.");
      return DEMO_DEFINITION;
    },
    hydrate(_host, { config }) {
      const board: Board = {
        tasks: [],
        lastId: 0,
        owner: typeof config.owner === "string" ? config.owner : "you",
        maxTasks: typeof config.maxTasks === "number" ? config.maxTasks : DEFAULT_MAX_TASKS,
      };
      for (const [index, title] of FIRST_TASKS.entries()) add(board, title, FIRST_POINTS[index] ?? 1);
      return board;
    },
    async invoke(_host, board, _kept, { toolId, parameters }) {
      const tool = Object.hasOwn(TOOLS, toolId) ? TOOLS[toolId] : undefined;
      if (tool === undefined) throw new Error(`A demo has no tool ${toolId}.`);
      return tool(board, parameters);
    },
    secretOrigins: () => [],
  });
}

function add(board: Board, title: string, points: number): Task {
  board.lastId += 1;
  const task: Task = { id: board.lastId, title, status: "open", points, owner: board.owner };
  board.tasks.push(task);
  return { ...task };
}

function isEmptyObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return (
      typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
    );
  } catch {
    return false;
  }
}
