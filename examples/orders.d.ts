// What order-report.ts calls: GET /tools/types.d.ts of a server that has the service would say it with the rest.
interface CyrnelTools {
  readonly orders: {
    listOrders(
      parameters: { query?: { status?: string } },
      options: CyrnelSaving,
    ): Promise<{ status: number; body: CyrnelSavedFile }>;
  } & CyrnelUntypedTools;
}
