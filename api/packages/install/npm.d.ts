/** npm's libraries have no declarations for these versions. */
declare module "@npmcli/arborist" {
  interface Edge {
    type: "prod" | "optional" | "peer" | "peerOptional" | "dev" | "workspace";
    name: string;
    spec: string;
    to: Node | null;
    error: string | null;
  }
  export interface Node {
    name: string;
    packageName: string | null;
    version: string;
    location: string;
    resolved: string | null;
    integrity: string | null;
    isLink: boolean;
    optional: boolean;
    package: Record<string, unknown>;
    edgesOut: Map<string, Edge>;
    children: Map<string, Node>;
  }
  export default class Arborist {
    constructor(options: Record<string, unknown>);
    buildIdealTree(options: Record<string, unknown>): Promise<Node>;
  }
}

declare module "pacote" {
  const pacote: {
    packument(spec: string, options: Record<string, unknown>): Promise<Record<string, unknown>>;
    tarball(spec: string, options: Record<string, unknown>): Promise<Buffer>;
  };
  export default pacote;
}
