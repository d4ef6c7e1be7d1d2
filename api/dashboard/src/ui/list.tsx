import { type InfiniteData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

import { Button } from "./button";

type Page<T> = { data: T[]; meta: { nextCursor: string | null } };

/** Loads all pages of a list, one after the other, until it has `max` rows. For short lists only. */
export async function everyPage<T>(load: (cursor: string | undefined) => Promise<Page<T>>, max: number = Infinity) {
  const all: T[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await load(cursor);
    all.push(...page.data);
    if (page.meta.nextCursor === null || all.length >= max) return all;
    cursor = page.meta.nextCursor;
  }
}

/** Loads a list page by page, with keyset pagination. */
export function useList<T>(
  queryKey: QueryKey,
  load: (cursor: string | undefined) => Promise<Page<T>>,
  options?: { refetchInterval?: number },
) {
  const query = useInfiniteQuery<Page<T>, Error, InfiniteData<Page<T>>, QueryKey, string | undefined>({
    queryKey,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
    ...options,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

/** The button that loads the next page of a list. */
export function ShowMore({
  list,
}: {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}) {
  if (!list.hasNextPage) return null;
  return (
    <div className="mt-3 text-center">
      <Button variant="outline" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
