import type { Client, Init, InitArgument, PathWith, Result } from "./client.js";
import type { paths } from "./generated/schema.js";

/** The paths of lists with a cursor. */
export type ListPath = {
  [P in PathWith<"get">]: paths[P]["get"] extends { parameters: { query?: infer Q } }
    ? "cursor" extends keyof NonNullable<Q>
      ? P
      : never
    : never;
}[PathWith<"get">];

/** The rows of a list. */
export type Row<P extends ListPath> = Result<P, "get"> extends { data: (infer T)[] } ? T : never;

interface Page {
  data: unknown[];
  meta: { nextCursor: string | null };
}

/**
 * Iterates over all rows of a list, and requests its pages as needed. `params.query` has the filters. Its `limit` is
 * the number of rows per request, by default 100, and `cursor` is the start.
 */
export async function* paginate<P extends ListPath>(
  client: Pick<Client, "GET">,
  path: P,
  ...[init]: InitArgument<Init<P, "get">>
): AsyncGenerator<Row<P>, void, undefined> {
  const { params, ...options } = (init ?? {}) as { params?: { query?: Record<string, unknown> } };
  const list = client.GET as unknown as (path: string, init: unknown) => Promise<Page>;
  let cursor = params?.query?.cursor;
  do {
    const query = { limit: 100, ...params?.query, ...(cursor ? { cursor } : {}) };
    const { data, meta } = await list(path, { ...options, params: { ...params, query } });
    yield* data as Row<P>[];
    cursor = meta.nextCursor;
  } while (cursor);
}
