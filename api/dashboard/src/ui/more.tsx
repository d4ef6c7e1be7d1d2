import { type InfiniteData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

import { Button } from "./button";

type Page<T> = { data: T[]; meta: { nextCursor: string | null } };

/** All that there is of a list. For those that cannot be long: each hundred is asked for after the one before. */
export async function everyPage<T>(load: (cursor: string | undefined) => Promise<{ data?: Page<T> }>) {
  const all: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = (await load(cursor)).data!;
    all.push(...page.data);
    if (page.meta.nextCursor === null) return all;
    cursor = page.meta.nextCursor;
  }
}

/** A list that the API hands out page by page. */
export function useList<T>(queryKey: QueryKey, load: (cursor: string | undefined) => Promise<{ data?: Page<T> }>, options?: { refetchInterval?: number }) {
  const query = useInfiniteQuery<Page<T>, Error, InfiniteData<Page<T>>, QueryKey, string | undefined>({
    queryKey,
    queryFn: async ({ pageParam }) => (await load(pageParam)).data!,
    initialPageParam: undefined,
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
    ...options,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

/** The button below a list that goes on. */
export function More({ list }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!list.hasNextPage) return null;
  return (
    <div className="mt-3 text-center">
      <Button variant="outline" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
