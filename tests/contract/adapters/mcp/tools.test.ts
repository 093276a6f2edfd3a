/** Conversion of a server's list of tools. */
import { describe, expect, test } from "vitest";
import { assignIds, offerTools } from "#modules/mcp/generate/tools.ts";
import { TOOL_ID_PATTERN } from "#sdk";

const ids = (...names: string[]) => Object.fromEntries(assignIds(names));
const tool = (annotations?: object) => ({
  name: "t",
  inputSchema: { type: "object" },
  ...(annotations && { annotations }),
});

describe("ids", () => {
  test("of names in groups keep the groups, if each piece can be a name", () => {
    expect(
      ids(
        "issues.list",
        "repos/get-one",
        "a.then",
        "v1.2",
        "a..b",
        "/a",
        "x y.z",
        "a.b.c.d.e.f.g.h",
        "a.b.c.d.e.f.g.h.i",
      ),
    ).toEqual({
      "issues.list": "issues.list",
      "repos/get-one": "repos.get_one",
      "a.then": "a.then_",
      "v1.2": "v1_2",
      "a..b": "a__b",
      "/a": "_a",
      "x y.z": "x_y_z",
      "a.b.c.d.e.f.g.h": "a.b.c.d.e.f.g.h",
      "a.b.c.d.e.f.g.h.i": "a_b_c_d_e_f_g_h_i",
    });
    const shared = ids("issues.list", "issues/list", "issues-list");
    expect(shared["issues.list"]).toBe("issues.list");
    expect(shared["issues/list"]).toMatch(/^issues_list_[0-9a-f]{6}$/);
    expect(shared["issues-list"]).toMatch(/^issues_list_[0-9a-f]{6}$/);
  });

  test("of a dotted name and the same with slashes are both readable, in any order", () => {
    const expected = { "issues.list": "issues.list", "issues/list": "issues_list" };
    expect(ids("issues.list", "issues/list")).toEqual(expected);
    expect(ids("issues/list", "issues.list")).toEqual(expected);
  });

  test("are identifiers, whatever the name", () => {
    const names = [
      "a",
      "a-b",
      "1st",
      "",
      " ",
      "söme/näme",
      "𝒳",
      "a.b.c",
      "then",
      "constructor",
      "__proto__",
      "toString",
      "x".repeat(400),
    ];
    const all = Object.values(ids(...names));
    for (const id of all) expect(id).toMatch(TOOL_ID_PATTERN);
    expect(new Set(all).size).toBe(names.length);
    expect(Math.max(...all.map((id) => id.length))).toBeLessThanOrEqual(130);
    expect(all.filter((id) => id in {} || id === "then")).toEqual([]);
  });

  test("do not depend on the order", () => {
    const names = ["a-b", "a.b", "a_b", "c", "a b"];
    expect(ids(...names)).toEqual(ids(...names.toReversed()));
  });

  test("a name that is an identifier keeps it; others that would share it carry a hash", () => {
    const found = ids("a-b", "a.b", "a_b");
    expect(found.a_b).toBe("a_b");
    expect(found["a-b"]).toMatch(/^a_b_[0-9a-f]{6}$/);
    expect(found["a.b"]).not.toBe(found["a-b"]);
  });

  test("never pass from one tool to another: a rule for one must not come to mean the other", () => {
    const before = ids("delete-all", "list");
    expect(before["delete-all"]).toBe("delete_all");
    const later = (stored: Record<string, string>, ...names: string[]) =>
      Object.fromEntries(assignIds(names, new Map(Object.entries(stored))));
    const after = later(before, "delete all", "delete_all", "delete-all", "list");
    expect(after).toMatchObject(before);
    expect(after.delete_all).toMatch(/^delete_all_[0-9a-f]{6}$/);
    // Also where a name comes that would have had the id.
    expect(later(ids("issues/list"), "issues.list", "issues/list")).toEqual({
      "issues/list": "issues.list",
      "issues.list": "issues_list",
    });
  });

  test("a name made to look like another's hashed id takes nobody's place", () => {
    const hashed = ids("a-b", "a.b")["a-b"] as string;
    const found = ids("a-b", "a.b", hashed);
    expect(new Set(Object.values(found)).size).toBe(3);
  });
});

describe("destructive", () => {
  test.each([
    ["nothing said: the protocol's defaults", undefined, true],
    ["read-only", { readOnlyHint: true }, false],
    ["may change, does not destroy", { readOnlyHint: false, destructiveHint: false }, false],
    ["destroys", { destructiveHint: true }, true],
    ["says both: taken at its worse word", { readOnlyHint: true, destructiveHint: true }, true],
    ["only a title", { title: "x" }, true],
  ])("%s", (_name, annotations, destructive) => {
    expect(offerTools([tool(annotations)]).tools[0]?.destructive).toBe(destructive);
  });
});

describe("schemas", () => {
  test("keep their own definitions, and lose what would clash or confuse", () => {
    const [offered] = offerTools([
      {
        name: "t",
        inputSchema: {
          $schema: "http://json-schema.org/draft-04/schema#",
          $id: "urn:same-for-all",
          type: "object",
          properties: { tree: { $ref: "#/definitions/node" } },
          definitions: { node: { type: "object", properties: { left: { $ref: "#/definitions/node" } } } },
        },
      },
    ]).tools;
    expect(offered?.inputSchema).toEqual({
      type: "object",
      properties: { tree: { $ref: "#/definitions/node" } },
      definitions: { node: { type: "object", properties: { left: { $ref: "#/definitions/node" } } } },
    });
  });

  test("an output schema that is none promises nothing", () => {
    const [offered] = offerTools([{ ...tool(), outputSchema: { type: "nonsense" } }]).tools;
    expect(offered?.outputSchema).toEqual({});
  });
});
